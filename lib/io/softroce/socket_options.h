/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_IO_SOFTROCE_SOCKET_OPTIONS_H
#define INCLUDED_RDMA_IO_SOFTROCE_SOCKET_OPTIONS_H

#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/socket.h>

// Older C libraries lack these (linux/udp.h, linux/in.h, linux/in6.h,
// asm-generic/socket.h).
#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif
#ifndef IP_MULTICAST_ALL
#define IP_MULTICAST_ALL 49
#endif
#ifndef IPV6_MULTICAST_ALL
#define IPV6_MULTICAST_ALL 29
#endif
#ifndef UDP_NO_CHECK6_RX
#define UDP_NO_CHECK6_RX 102
#endif
#ifndef SO_BINDTOIFINDEX
#define SO_BINDTOIFINDEX 62
#endif
#ifndef SO_RXQ_OVFL
#define SO_RXQ_OVFL 40
#endif

#endif /* INCLUDED_RDMA_IO_SOFTROCE_SOCKET_OPTIONS_H */

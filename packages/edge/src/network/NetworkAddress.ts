/**
 * Judgement of an IP address: where it leads. Pure.
 *
 * Guarantees: `public` only for addresses that are assigned on the internet. Addresses that contain another one, such as mapped, translated
 * and tunnelled ones, are `reserved`.
 */
import { BlockList, isIP } from "node:net"

/** `loopback`: this machine. `private`: the network around it. `reserved`: no host that a run needs, such as a service with metadata. */
export type AddressKind = "public" | "loopback" | "private" | "reserved"

type Subnet = readonly [network: string, prefix: number]

const listOf = (subnets: ReadonlyArray<Subnet>): BlockList => {
  const list = new BlockList()
  for (const [network, prefix] of subnets)
    list.addSubnet(network, prefix, network.includes(":") ? "ipv6" : "ipv4")
  return list
}

const loopback4 = listOf([["127.0.0.0", 8]])
const private4 = listOf([
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["172.16.0.0", 12],
  ["192.168.0.0", 16]
])
const reserved4 = listOf([
  ["0.0.0.0", 8],
  // Metadata of the service of Alibaba, inside a private network.
  ["100.100.100.200", 32],
  // A service of Azure that answers every machine.
  ["168.63.129.16", 32],
  ["169.254.0.0", 16],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 3]
])

const loopback6 = listOf([["::1", 128]])
const private6 = listOf([
  ["fc00::", 7],
  ["fec0::", 10]
])
/** Metadata of the service of Amazon, inside a private network. */
const metadata6 = listOf([["fd00:ec2::", 32]])
const global6 = listOf([["2000::", 3]])
const special6 = listOf([
  ["2001::", 23],
  ["2001:db8::", 32],
  ["2002::", 16],
  ["3fff::", 20]
])

const kindOf4 = (address: string): AddressKind => {
  if (reserved4.check(address)) return "reserved"
  if (loopback4.check(address)) return "loopback"
  return private4.check(address) ? "private" : "public"
}

const kindOf6 = (address: string): AddressKind => {
  const isIn = (list: BlockList) => list.check(address, "ipv6")
  if (isIn(loopback6)) return "loopback"
  if (isIn(metadata6)) return "reserved"
  if (isIn(private6)) return "private"
  return isIn(global6) && !isIn(special6) ? "public" : "reserved"
}

/** Kind of an address, as `node:net` reads it. A text that is not an address is `reserved`. */
export const addressKind = (address: string): AddressKind => {
  // An address with a zone is one of a link.
  if (address.includes("%")) return "reserved"
  switch (isIP(address)) {
    case 4:
      return kindOf4(address)
    case 6:
      return kindOf6(address)
    default:
      return "reserved"
  }
}

/** Whether a host is this machine, as its spelling says. */
export const isLoopbackHost = (host: string): boolean =>
  host === "localhost" || (isIP(host) !== 0 && addressKind(host) === "loopback")

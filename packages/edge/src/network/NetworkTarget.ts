/**
 * Where a connection leads: its host and port in one spelling, a name in lower case or an IP address, and the judgement of an address. Pure.
 *
 * Guarantees: an address in another notation, such as `2130706433` or `0x7f.1`, becomes the address that it stands for. A text with anything else
 * in it, such as a user name, a space or a line break, has no target. `public` are only addresses that are assigned on the internet. Addresses that
 * contain another one, such as mapped, translated and tunnelled ones, are `reserved`.
 */
import { BlockList, isIP } from "node:net"

export interface NetworkTarget {
  /** Without brackets and without the dot of the root. */
  readonly host: string
  readonly port: number
}

const MAX_HOST = 255
const HOST = /^(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_.-]+)$/
const PORT = /^[1-9][0-9]{0,4}$/

/** The host in its one spelling; `undefined` if the text is not a host. */
export const canonicalHost = (text: string): string | undefined => {
  if (text.length > MAX_HOST || !HOST.test(text) || !URL.canParse(`http://${text}/`)) return undefined
  const { hostname } = new URL(`http://${text}/`)
  const host = hostname.startsWith("[") ? hostname.slice(1, -1) : hostname.replace(/\.$/, "")
  return host.split(".").includes("") ? undefined : host
}

export const portOf = (text: string): number | undefined => {
  const port = PORT.test(text) ? Number(text) : 0
  return port > 0 && port < 65_536 ? port : undefined
}

/** Host and port of a text, as they are written. The port is `undefined` if there is none. */
export const splitPort = (text: string): readonly [host: string, port: string | undefined] => {
  const at = text.lastIndexOf(":")
  return at === -1 || text.endsWith("]") ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)]
}

/** Target of CONNECT: `host:port`. */
export const targetOfAuthority = (authority: string): NetworkTarget | undefined => {
  const [written, writtenPort = ""] = splitPort(authority)
  const host = canonicalHost(written)
  const port = portOf(writtenPort)
  return host === undefined || port === undefined ? undefined : { host, port }
}

/** Target of a request to a proxy, and the path for its server; `undefined` unless the address is an absolute one of plain HTTP. */
export const targetOfUrl = (
  url: string
): (NetworkTarget & { readonly path: string; readonly authority: string }) | undefined => {
  if (!URL.canParse(url)) return undefined
  const { host: authority, hostname, password, pathname, port, protocol, search, username } = new URL(url)
  const host = canonicalHost(hostname)
  if (protocol !== "http:" || username !== "" || password !== "" || host === undefined) return undefined
  const number = portOf(port === "" ? "80" : port)
  return number === undefined ? undefined : { host, port: number, path: `${pathname}${search}`, authority }
}

/** The target as people read it. */
export const showTarget = ({ host, port }: NetworkTarget): string =>
  `${host.includes(":") ? `[${host}]` : host}:${port}`

/** `loopback`: this machine. `private`: the network around it. `reserved`: no host that a run needs, such as a service with metadata. */
type AddressKind = "public" | "loopback" | "private" | "reserved"

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

/**
 * Host and port of a connection, in one spelling: a name in lower case, or an IP address. Pure.
 *
 * Guarantees: an address in another notation, such as `2130706433` or `0x7f.1`, becomes the address that it stands for. A text with anything
 * else in it, such as a user name, a space or a line break, has no target.
 */

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

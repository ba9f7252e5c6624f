/**
 * Client address of a request that may have passed trusted proxies.
 *
 * Guarantees: only a trusted peer's header is read, from right to left, and the first address that is not trusted is the client's. Entries
 * that the client wrote itself are to the left of it and are never read. An address has one spelling, so it can be a key.
 * `X-Forwarded-For` wins over `Forwarded`: the proxies must set or append to it.
 */
import type { IncomingHttpHeaders } from "node:http"
import { BlockList, isIP } from "node:net"
import { list, textMatching } from "../settings/Setting.ts"

const mapped = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/

/** Canonical spelling of an address: IPv6 compressed, an IPv4 address in IPv6 as IPv4, without a zone. */
export const canonicalAddress = (text: string): string | undefined => {
  const [address = ""] = text.split("%", 1)
  const family = isIP(address)
  if (family !== 6) return family === 4 ? address : undefined
  const compressed = new URL(`http://[${address}]`).hostname.slice(1, -1)
  const [, high, low] = mapped.exec(compressed) ?? []
  if (high === undefined || low === undefined) return compressed
  const bits = Number.parseInt(high, 16) * 65_536 + Number.parseInt(low, 16)
  return [bits >>> 24, bits >>> 16, bits >>> 8, bits].map((byte) => byte & 255).join(".")
}

/**
 * Key that limits count a client by: an IPv4 address, or the /64 network of an IPv6 address. One client usually has a whole /64 and could
 * take another address for each request. `address` is canonical.
 */
export const clientNetwork = (address: string): string => {
  if (isIP(address) !== 6) return address
  const [head = "", tail] = address.split("::")
  const left = head.split(":").filter((group) => group !== "")
  const right = (tail ?? "").split(":").filter((group) => group !== "")
  const zeros = Array.from({ length: 8 - left.length - right.length }, () => "0")
  return `${[...left, ...zeros, ...right].slice(0, 4).join(":")}::/64`
}

/** An address with or without a port, as proxies write one: `192.0.2.1:80`, `[2001:db8::1]:80`, `2001:db8::1`. */
const hopAddress = (text: string): string | undefined => {
  const [, bracketed] = /^\[([^[\]]*)\](?::\d{1,5})?$/.exec(text) ?? []
  if (bracketed !== undefined) return isIP(bracketed) === 6 ? canonicalAddress(bracketed) : undefined
  const [, withPort] = /^([\d.]+):\d{1,5}$/.exec(text) ?? []
  return canonicalAddress(withPort ?? text)
}

/** Elements of a header from right to left, without empty ones. A comma inside quotes does not separate elements. */
export function* elementsFromRight(header: string): Generator<string> {
  let quoted = false
  let end = header.length
  for (let at = header.length - 1; at >= -1; at--) {
    if (header[at] === '"') quoted = !quoted
    if (at >= 0 && (header[at] !== "," || quoted)) continue
    const element = header.slice(at + 1, end).trim()
    if (element !== "") yield element
    end = at
  }
}

const unquoted = (text: string): string => (/^"[^"]*"$/.test(text) ? text.slice(1, -1).trim() : text)

/** The node of an element of `Forwarded`; `undefined` if the element has none. */
const forwardedFor = (element: string): string | undefined =>
  element
    .split(";")
    .map((pair) => {
      const [name = "", ...value] = pair.split("=")
      return name.trim().toLowerCase() === "for" && value.length > 0 ? value.join("=").trim() : undefined
    })
    .find((node) => node !== undefined)

export type ClientAddressOf = (headers: IncomingHttpHeaders, peer: string | undefined) => string

/** Finds client addresses; `trusted` are addresses and networks of `TrustedProxies`. */
export const clientAddresses = (trusted: ReadonlyArray<string> = []): ClientAddressOf => {
  const list = new BlockList()
  for (const entry of trusted) {
    const { address, family, prefix } = networkOf(entry) ?? { address: "" }
    if (prefix !== undefined) list.addSubnet(address, prefix, family)
  }
  const isTrusted = (address: string): boolean => list.check(address, isIP(address) === 6 ? "ipv6" : "ipv4")

  return (headers, peer = "") => {
    let current = canonicalAddress(peer)
    if (current === undefined) return peer
    if (!isTrusted(current)) return current
    const { "x-forwarded-for": forwarded = "" } = headers
    const header = Array.isArray(forwarded) ? forwarded.join(",") : forwarded
    const isPlain = header.trim() !== ""
    for (const element of elementsFromRight(isPlain ? header : (headers.forwarded ?? ""))) {
      const node = isPlain ? element : forwardedFor(element)
      const next = node === undefined ? undefined : hopAddress(unquoted(node))
      // Clients behind an unknown hop count as the last known address.
      if (next === undefined) return current
      current = next
      if (!isTrusted(current)) return current
    }
    return current
  }
}

interface Network {
  readonly address: string
  readonly prefix: number
  readonly family: "ipv4" | "ipv6"
}

const networkOf = (text: string): Network | undefined => {
  const [, host = "", bits] = /^([^/%]+)(?:\/(\d{1,3}))?$/.exec(text) ?? []
  const address = canonicalAddress(host)
  // The prefix length of a network in the mapped spelling counts from another bit.
  if (address === undefined || (bits !== undefined && isIP(host) !== isIP(address))) return undefined
  const family = isIP(address) === 6 ? "ipv6" : "ipv4"
  const most = family === "ipv6" ? 128 : 32
  const prefix = bits === undefined ? most : Number(bits)
  // If every address were a proxy, clients could choose their address.
  return prefix >= 1 && prefix <= most ? { address, prefix, family } : undefined
}

/** Addresses and networks, separated by commas or line breaks. */
export const TrustedProxies = list(
  textMatching("an address or a network", (text) => networkOf(text) !== undefined),
  "addresses or networks, such as 127.0.0.1 or 10.0.0.0/8, between commas",
  /[\s,]+/
)

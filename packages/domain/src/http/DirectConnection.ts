/**
 * Connections to this machine pass no proxy, regardless of the environment: a proxy would receive tokens that are for this machine only.
 *
 * Node sends every `fetch` and `WebSocket` to the proxy of `HTTP_PROXY` if `NODE_USE_ENV_PROXY` is set, loopback addresses included. What it uses for
 * the addresses of `NO_PROXY` is used here for all of this machine's.
 */

/** Whether the address names this machine. */
export const isThisMachine = (address: string | URL): boolean => {
  const url = typeof address === "string" && URL.canParse(address) ? new URL(address) : address
  if (typeof url === "string") return false
  const { hostname } = url
  return (
    hostname === "localhost" ||
    hostname.endsWith(".localhost") ||
    hostname === "[::1]" ||
    // The parser of addresses writes all forms of an IPv4 address with four numbers.
    /^127\.\d+\.\d+\.\d+$/.test(hostname) ||
    /^\[::ffff:7f[0-9a-f]{2}:[0-9a-f]{1,4}\]$/.test(hostname)
  )
}

/** Where Node keeps what connects, by version. Absent in browsers. */
const DISPATCHERS = ["undici.globalDispatcher.1", "undici.globalDispatcher.2"].map((name) => Symbol.for(name))

const nameOf = (value: unknown): string | undefined =>
  typeof value === "object" && value !== null ? value.constructor?.name : undefined

/** Options for `fetch` and `WebSocket` of this address. Throws if the environment names a proxy that cannot be avoided. */
export const directOptions = (address: string | URL): { readonly dispatcher?: never } => {
  if (!isThisMachine(address)) return {}
  for (const symbol of DISPATCHERS) {
    const dispatcher: unknown = Reflect.get(globalThis, symbol)
    if (typeof dispatcher !== "object" || dispatcher === null || nameOf(dispatcher) !== "EnvHttpProxyAgent")
      continue
    const direct = Object.getOwnPropertySymbols(dispatcher)
      .map((name): unknown => Reflect.get(dispatcher, name))
      .find((value) => nameOf(value) === "Agent")
    if (direct === undefined)
      throw new TypeError(
        "This version of Node sends requests for this machine to a proxy. Unset NODE_USE_ENV_PROXY."
      )
    // The types of the web do not declare the option.
    return { dispatcher: direct as never }
  }
  return {}
}

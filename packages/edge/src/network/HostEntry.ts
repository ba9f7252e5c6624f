/** Hosts that an adapter declares or an owner lists: `example.com`, `*.example.com`, `example.com:8443`, `127.0.0.1:11434`. Pure. */
import { canonicalHost, type NetworkTarget, portOf, splitPort } from "./NetworkTarget.ts"

export interface HostEntry {
  readonly host: string
  /** Whether it stands for all names below `host`, and not for `host` itself. */
  readonly isBelow: boolean
  /** `undefined`: the ports of HTTP and HTTPS. */
  readonly port: number | undefined
}

const BELOW = "*."
const WEB_PORTS: ReadonlyArray<number> = [443, 80]

/** The entry of a text; `undefined` if the text names no host. */
export const hostEntryOf = (text: string): HostEntry | undefined => {
  const isBelow = text.startsWith(BELOW)
  const [written, writtenPort] = splitPort(isBelow ? text.slice(BELOW.length) : text)
  const host = canonicalHost(written)
  const port = writtenPort === undefined ? undefined : portOf(writtenPort)
  if (host === undefined || (writtenPort !== undefined && port === undefined)) return undefined
  return { host, isBelow, port }
}

/** The entry of the server that an address with `http` or `https` names. */
export const hostEntryOfUrl = (url: string): HostEntry | undefined => {
  if (!URL.canParse(url)) return undefined
  const { hostname, port, protocol } = new URL(url)
  const host = canonicalHost(hostname)
  const isWeb = protocol === "http:" || protocol === "https:"
  return host === undefined || !isWeb ? undefined : { host, isBelow: false, port: portOf(port) }
}

/** Whether one of the entries names the target. */
export const isListed = (entries: ReadonlyArray<HostEntry>, { host, port }: NetworkTarget): boolean =>
  entries.some(
    (entry) =>
      (entry.isBelow ? host.endsWith(`.${entry.host}`) : host === entry.host) &&
      (entry.port === undefined ? WEB_PORTS.includes(port) : port === entry.port)
  )

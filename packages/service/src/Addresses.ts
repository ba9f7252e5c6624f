/** Addresses of this machine. */
import { isIP } from "node:net"

/** Whether a host, of a setting or of a URL, is on loopback. */
export const isLoopback = (host: string): boolean =>
  host === "localhost" || host === "::1" || host === "[::1]" || (isIP(host) === 4 && host.startsWith("127."))

/**
 * Credentials of one run for its proxy, where the proxy is on a port that other programs of this machine reach, too.
 *
 * Guarantees: two runs have different credentials. The comparison takes the same time for every candidate.
 *
 * Does not: hide them from programs that can read the environment of the run.
 */
import { createHash, randomBytes, timingSafeEqual } from "node:crypto"
import type { IncomingHttpHeaders } from "node:http"
import type { Duplex } from "node:stream"

const USER = "run"
const SECRET_BYTES = 24

const hash = (text: string): Buffer => createHash("sha256").update(text).digest()

/** Response to a request without credentials, and the end of its connection. Some clients send them only after it. */
export const refuseStranger = (client: Duplex): void => {
  const head = [
    "HTTP/1.1 407 Proxy Authentication Required",
    'Proxy-Authenticate: Basic realm="corral"',
    "Content-Length: 0",
    "Connection: close"
  ]
  client.end([...head, "", ""].join("\r\n"))
  // The client may send more, or nothing. Its end is not seen without reading.
  client.once("finish", () => client.destroy()).resume()
}

export class ProxyCredentials {
  readonly #secret = randomBytes(SECRET_BYTES).toString("hex")
  readonly #header = hash(`Basic ${Buffer.from(`${USER}:${this.#secret}`).toString("base64")}`)

  /** Address of the proxy on this port of the machine, for the variables of the run. */
  addressOf(port: number): string {
    return `http://${USER}:${this.#secret}@127.0.0.1:${port}`
  }

  /** Whether a request has the credentials. */
  admits({ "proxy-authorization": header = "" }: IncomingHttpHeaders): boolean {
    return timingSafeEqual(hash(header), this.#header)
  }
}

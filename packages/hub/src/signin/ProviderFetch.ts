/**
 * HTTP client for an identity provider on this machine, or with a private certificate authority, which is trusted for the provider only.
 *
 * Guarantees: a request to this machine passes no proxy.
 */
import { isThisMachine } from "@corral/domain/http/DirectConnection"
import { Agent as HttpAgent, request as overHttp } from "node:http"
import { Agent as HttpsAgent, request as overHttps } from "node:https"
// Not by name: an older Node would fail to import the module, instead of with `NodeTooOld`.
import * as tls from "node:tls"

interface Init {
  readonly method?: string
  readonly headers?: Headers | Readonly<Record<string, string>>
  readonly body?: unknown
  readonly signal?: AbortSignal | undefined
}

/** Longest response that is read. */
const MAX_BYTES = 1_048_576

const bodyOf = (body: unknown): string | Uint8Array | undefined =>
  body instanceof URLSearchParams ? String(body) : (body as string | Uint8Array | undefined)

/** Of connections to this machine. Those of Node's own agents may pass a proxy. */
const direct = { http: new HttpAgent(), https: new HttpsAgent() }

/** Like `fetch`, for small responses; does not follow redirects. `certificates` are PEM. */
export const providerFetch =
  (certificates?: string) =>
  (address: string, { body, headers = {}, method = "GET", signal }: Init = {}): Promise<Response> =>
    new Promise((resolve, reject) => {
      const url = new URL(address)
      const isSecure = url.protocol === "https:"
      const options = {
        method,
        signal,
        headers: Object.fromEntries(new Headers(headers)),
        ...(isThisMachine(url) ? { agent: isSecure ? direct.https : direct.http } : {}),
        ...(isSecure && certificates !== undefined
          ? { ca: [...tls.getCACertificates("default"), certificates] }
          : {})
      }
      const call = (isSecure ? overHttps : overHttp)(url, options, (response) => {
        const chunks: Array<Buffer> = []
        let size = 0
        response.on("data", (chunk: Buffer) => {
          size += chunk.length
          if (size > MAX_BYTES) response.destroy(new TypeError("the response is too long"))
          else chunks.push(chunk)
        })
        response.once("error", reject)
        response.once("end", () => {
          const status = response.statusCode ?? 500
          const fields = Object.entries(response.headers).map(([name, value]) => [name, String(value)])
          const text = status === 204 || status === 304 ? null : Buffer.concat(chunks)
          resolve(
            new Response(text, { status, headers: Object.fromEntries(fields) as Record<string, string> })
          )
        })
      })
      call.once("error", (error) => reject(new TypeError("the request failed", { cause: error })))
      call.end(bodyOf(body))
    })

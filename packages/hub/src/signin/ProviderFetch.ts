/**
 * HTTP to an identity provider whose certificate is signed by an authority of one's own: trusted for the provider, and for nothing else.
 */
import { request as overHttp } from "node:http"
import { request as overHttps } from "node:https"
import { getCACertificates } from "node:tls"

interface Init {
  readonly method?: string
  readonly headers?: Headers | Readonly<Record<string, string>>
  readonly body?: unknown
  readonly signal?: AbortSignal | undefined
}

/** Nothing that a provider answers is longer. */
const MAX_BYTES = 1_048_576

const bodyOf = (body: unknown): string | Uint8Array | undefined =>
  body instanceof URLSearchParams ? String(body) : (body as string | Uint8Array | undefined)

/** As `fetch`, for small answers; follows no redirect. `certificates` are PEM. */
export const providerFetch =
  (certificates: string) =>
  (address: string, { body, headers = {}, method = "GET", signal }: Init = {}): Promise<Response> =>
    new Promise((resolve, reject) => {
      const url = new URL(address)
      const options = {
        method,
        signal,
        headers: Object.fromEntries(new Headers(headers)),
        ...(url.protocol === "https:" ? { ca: [...getCACertificates("default"), certificates] } : {})
      }
      const call = (url.protocol === "https:" ? overHttps : overHttp)(url, options, (answer) => {
        const chunks: Array<Buffer> = []
        let size = 0
        answer.on("data", (chunk: Buffer) => {
          size += chunk.length
          if (size > MAX_BYTES) answer.destroy(new TypeError("the answer is too long"))
          else chunks.push(chunk)
        })
        answer.once("error", reject)
        answer.once("end", () => {
          const status = answer.statusCode ?? 500
          const fields = Object.entries(answer.headers).map(([name, value]) => [name, String(value)])
          const text = status === 204 || status === 304 ? null : Buffer.concat(chunks)
          resolve(
            new Response(text, { status, headers: Object.fromEntries(fields) as Record<string, string> })
          )
        })
      })
      call.once("error", (error) => reject(new TypeError("the request failed", { cause: error })))
      call.end(bodyOf(body))
    })

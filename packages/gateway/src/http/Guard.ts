/**
 * What every request must pass before its body is read: a path that is served, by that method, a body of the kind that is expected there, and an
 * acceptable size. Pure. Who sent it is found from the body, and only there: neither Host nor Origin says anything of a platform.
 */
import type { HttpRefusal } from "@corral/service/http/Refusal"
import type { IncomingHttpHeaders } from "node:http"

export const MAX_BODY_BYTES = 1_048_576

export interface GuardedRequest {
  readonly method: string
  /** As sent: path and query, or an absolute form, which nothing is served at. */
  readonly target: string
  readonly headers: IncomingHttpHeaders
}

/** What is served at a path. */
export interface Served {
  readonly method: "GET" | "POST"
  /** Of what is posted; JSON where it is absent. */
  readonly body?: "form"
}

const JSON_BODY = /^application\/json\s*(;|$)/i
const FORM_BODY = /^application\/x-www-form-urlencoded\s*(;|$)/i

/** The path of a target, without what follows it. */
export const pathOf = (target: string): string => target.split("?", 1)[0] ?? ""

export const refusalOf = (
  { headers, method, target }: GuardedRequest,
  served: ReadonlyMap<string, Served>
): HttpRefusal | undefined => {
  const wanted = served.get(pathOf(target))
  if (wanted === undefined) return { code: "not_found" }
  if (wanted.method !== method) return { code: "method_not_allowed" }
  if (method === "GET") return undefined
  if (Number(headers["content-length"] ?? 0) > MAX_BODY_BYTES) return { code: "payload_too_large" }
  const kind = wanted.body === "form" ? FORM_BODY : JSON_BODY
  return kind.test(headers["content-type"] ?? "") ? undefined : { code: "unsupported_media_type" }
}

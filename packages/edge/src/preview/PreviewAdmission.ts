/**
 * Admission of every request and upgrade to a preview: the right Host, no foreign Origin, no other site, and a ticket or the cookie.
 *
 * `same-site` differs from `same-origin`: for a browser every port of this machine is the same site, another preview's too. From the same
 * site only a user's own navigation is admitted. From any other site, such as a console, a navigation needs a ticket.
 */
import type { ErrorCode } from "@corral/domain/errors/ErrorTable"
import type { IncomingMessage } from "node:http"
import type { PreviewGate } from "./PreviewGate.ts"

export type PreviewAdmission =
  | { readonly _tag: "Pass" }
  /** A valid ticket, with the cookie for it. */
  | { readonly _tag: "Enter"; readonly setCookie: string }
  | { readonly _tag: "Refuse"; readonly code: ErrorCode; readonly message: string }

const refuse = (code: ErrorCode, message: string): PreviewAdmission => ({ _tag: "Refuse", code, message })

/** `/?ticket=…` and no other parameters: a page behind the preview may use `ticket` itself. */
const ticketOf = ({ method, url = "" }: IncomingMessage): string | undefined =>
  method === "GET" ? /^\/\?ticket=([A-Za-z0-9_-]{43})$/.exec(url)?.[1] : undefined

const hostsOf = ({ rawHeaders }: IncomingMessage): number =>
  rawHeaders.filter((name, i) => i % 2 === 0 && name.toLowerCase() === "host").length

const isOwnNavigation = ({ headers, method }: IncomingMessage): boolean =>
  method === "GET" && headers["sec-fetch-mode"] === "navigate" && headers["sec-fetch-dest"] === "document"

export const admitVisitor = (
  request: IncomingMessage,
  port: number,
  gate: PreviewGate,
  now: number
): PreviewAdmission => {
  const { headers, url = "" } = request
  if (hostsOf(request) !== 1 || headers.host !== `127.0.0.1:${port}`)
    return refuse("permission_denied", "The Host header names another server.")
  if (!url.startsWith("/")) return refuse("permission_denied", "The request target names another server.")
  if (headers.origin !== undefined && headers.origin !== `http://127.0.0.1:${port}`)
    return refuse("permission_denied", "This Origin may not reach the preview.")
  const site = headers["sec-fetch-site"]
  const ticket = ticketOf(request)
  if (site !== undefined && site !== "same-origin" && site !== "none") {
    if (!isOwnNavigation(request) || (site !== "same-site" && ticket === undefined))
      return refuse("permission_denied", "Requests from other pages are refused.")
  }
  if (ticket !== undefined) {
    const setCookie = gate.redeem(ticket, now)
    return setCookie === undefined
      ? refuse("unauthorized", "This ticket was used, or it is too late for it. Ask for the preview again.")
      : { _tag: "Enter", setCookie }
  }
  return gate.admits(headers)
    ? { _tag: "Pass" }
    : refuse("unauthorized", "Open the preview with the address that the Edge gives for it.")
}

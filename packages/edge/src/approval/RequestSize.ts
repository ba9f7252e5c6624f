/**
 * Size limits of an approval request. A large request is shortened before any other code reads it. A larger one is denied, because a user would
 * not see what the decision allows.
 */
import type { ApprovalRequest } from "@corral/domain/approval/Approval"

/** Maximum characters of a request that is shown completely, within one event's payload. */
const SHOWN_WHOLE = 262_144
/** Maximum characters of a request; larger ones are denied. */
export const MAX_REQUEST = 1_048_576
const MAX_FILES = 256
/** Maximum characters of a shortened request's command and patch, and of every other text. */
const LONG_TEXT = 65_536
const SHORT_TEXT = 4_096
/** Characters that a value counts in addition to its text. */
const PER_VALUE = 8

/** Characters of all texts in a value, plus a constant per value. Stops counting beyond `most`. */
export const sizeOf = (value: unknown, most: number): number => {
  let size = 0
  const open = [value]
  while (open.length > 0 && size <= most) {
    const one = open.pop()
    size += PER_VALUE
    if (typeof one === "string") size += one.length
    else if (typeof one === "object" && one !== null)
      for (const [name, inner] of Object.entries(one)) {
        size += name.length
        open.push(inner)
      }
  }
  return size
}

/** A request that may be read and shown. */
export interface SizedRequest {
  readonly request: ApprovalRequest
  /** Whether it is complete. */
  readonly isWhole: boolean
  /** Reason for denying it without asking a user. */
  readonly refusal: string | undefined
}

const cut = (text: string, most: number): string =>
  text.length > most ? `${text.slice(0, most).toWellFormed()}…` : text

/** The shortened request: of high risk, allowed at most once, and not editable. */
const shortened = (request: ApprovalRequest): ApprovalRequest => {
  const { action, command, files, input: _input, patch, segments: _segments, ...texts } = request
  const rest = Object.fromEntries(
    Object.entries(texts).map(([name, value]) => [
      name,
      typeof value === "string" ? cut(value, SHORT_TEXT) : value
    ])
  )
  return {
    ...(rest as typeof texts), // texts stay texts
    action,
    risk: "high",
    editable: false,
    scopes: ["once"],
    ...(command === undefined ? {} : { command: cut(command, LONG_TEXT) }),
    ...(patch === undefined ? {} : { patch: cut(patch, LONG_TEXT) }),
    ...(files === undefined ? {} : { files: files.slice(0, MAX_FILES).map((file) => cut(file, SHORT_TEXT)) })
  }
}

export const limitRequestSize = (request: ApprovalRequest): SizedRequest => {
  const size = sizeOf(request, MAX_REQUEST)
  const isWhole = size <= SHOWN_WHOLE && (request.files?.length ?? 0) <= MAX_FILES
  return {
    request: isWhole ? request : shortened(request),
    isWhole,
    refusal:
      size > MAX_REQUEST
        ? `The request is larger than ${MAX_REQUEST / 1_048_576} MiB and cannot be reviewed. Do it in smaller steps.`
        : undefined
  }
}

/**
 * Decision without the user: by the size of the request, then by the run's mode, then the owner's configuration for the workspace, then earlier
 * decisions.
 *
 * Pure. A large request is shortened before any other code reads it. A larger one is denied, because a user would not see what the decision allows.
 * A mode is a limit: `read_only` and `plan` refuse every risky action, also a granted one. `auto_edit` grants writes inside the workspace to ordinary
 * files, which `OrdinaryFiles` lists; `full_access` grants all. A grant counts only if it covers the whole request.
 */
import type { ApprovalRequest } from "@corral/domain/approval/Approval"
import type { RunMode } from "@corral/domain/run/Run"
import type { Need } from "./Needs.ts"

/** Maximum characters of a request that is shown completely, within one event's payload. */
const SHOWN_WHOLE = 262_144
/** Maximum characters of a request; larger ones are denied. */
export const MAX_REQUEST = 1_048_576
const MAX_SHOWN_FILES = 256
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
interface SizedRequest {
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
    ...(files === undefined
      ? {}
      : { files: files.slice(0, MAX_SHOWN_FILES).map((file) => cut(file, SHORT_TEXT)) })
  }
}

export const limitRequestSize = (request: ApprovalRequest): SizedRequest => {
  const size = sizeOf(request, MAX_REQUEST)
  const isWhole = size <= SHOWN_WHOLE && (request.files?.length ?? 0) <= MAX_SHOWN_FILES
  return {
    request: isWhole ? request : shortened(request),
    isWhole,
    refusal:
      size > MAX_REQUEST
        ? `The request is larger than ${MAX_REQUEST / 1_048_576} MiB and cannot be reviewed. Do it in smaller steps.`
        : undefined
  }
}

/**
 * Reason for an allowed action: grants by their ids, earlier decisions of the run by their approvals, `confined` for the workspace's grant of
 * that name, `layer` for a write that reaches the workspace only once a person accepts it, `program` for the embedding program.
 */
type AllowedBy =
  | "policy:mode"
  | "policy:attachments"
  | "policy:workspace"
  | "policy:confined"
  | "policy:layer"
  | "policy:program"
  | `policy:remembered:${string}`

export type PolicyVerdict =
  | { readonly _tag: "Allow"; readonly by: AllowedBy }
  | {
      readonly _tag: "Deny"
      readonly by: "policy:mode" | "policy:size" | "policy:program"
      readonly reason: string
    }
  | { readonly _tag: "Ask" }

/** Grants of the run's workspace. */
export interface WorkspaceGrants {
  /** Whether the owner's configuration covers a need. */
  readonly configured: (need: Need) => boolean
  /** Id of the decision that covers a need. */
  readonly remembered: (need: Need) => string | undefined
}

/** Maximum number of files of one request that are examined. */
const MAX_EXAMINED_FILES = 64

/** Whether a request only writes files, all of them ordinary. */
export const editsOnly = (
  { action, command, files = [], risk, url }: ApprovalRequest,
  isOrdinary: (path: string) => boolean
): boolean =>
  action === "write" &&
  risk !== "high" &&
  command === undefined &&
  url === undefined &&
  files.length > 0 &&
  files.length <= MAX_EXAMINED_FILES &&
  files.every((file) => isOrdinary(file))

/** `needs` must all be covered; `undefined` if a grant cannot cover the request. `isOrdinary`: files that a mode allows to write. `isLayered`: whether writes stay in a layer. */
export const decideByPolicy = (
  mode: RunMode,
  request: ApprovalRequest,
  needs: ReadonlyArray<Need> | undefined,
  { configured, remembered }: WorkspaceGrants,
  isOrdinary: (path: string) => boolean,
  isLayered = false
): PolicyVerdict => {
  const asks = mode === "ask" || mode === "auto_edit"
  if (isLayered && asks && editsOnly(request, isOrdinary)) return { _tag: "Allow", by: "policy:layer" }
  switch (mode) {
    case "read_only":
    case "plan":
      return { _tag: "Deny", by: "policy:mode", reason: `The run's mode is ${mode}: nothing is changed.` }
    case "full_access":
      return { _tag: "Allow", by: "policy:mode" }
    case "auto_edit":
      if (editsOnly(request, isOrdinary)) return { _tag: "Allow", by: "policy:mode" }
      break
    case "ask":
      break
  }
  if (needs === undefined || needs.length === 0) return { _tag: "Ask" }
  const ids = new Set<string>()
  for (const need of needs) {
    if (configured(need)) continue
    const id = remembered(need)
    if (id === undefined) return { _tag: "Ask" }
    ids.add(id)
  }
  return {
    _tag: "Allow",
    by: ids.size === 0 ? "policy:workspace" : `policy:remembered:${[...ids].join(",")}`
  }
}

/**
 * Decision without the user: by the run's mode, then the owner's configuration for the workspace, then earlier decisions.
 *
 * Pure. A mode is a limit: `read_only` and `plan` refuse every risky action, also a granted one. `auto_edit` grants writes inside the
 * workspace to ordinary files, which `OrdinaryFiles` lists; `full_access` grants all. A grant counts only if it covers the whole request.
 */
import type { ApprovalRequest } from "@corral/domain/approval/Approval"
import type { RunMode } from "@corral/domain/run/Run"
import type { Need } from "./Needs.ts"

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
const MAX_FILES = 64

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
  files.length <= MAX_FILES &&
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

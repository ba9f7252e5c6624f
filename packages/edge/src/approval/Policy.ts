/**
 * What the Edge answers before it asks a person: the run's mode, then what its owner configured for the workspace, then what a person
 * already allowed.
 *
 * Pure. A mode is a ceiling: `read_only` and `plan` refuse every risky action, whatever was granted. `auto_edit` grants writes inside the
 * workspace to ordinary files, which `OrdinaryFiles` lists; `full_access` grants all. A grant counts only where it covers everything that
 * the request would do.
 */
import type { ApprovalRequest } from "@corral/domain/approval/Approval"
import type { RunMode } from "@corral/domain/run/Run"
import type { Need } from "./Needs.ts"

/** What allowed it. What was remembered is named: grants by their ids, the run's own memory by the approvals that it is of. */
type AllowedBy = "policy:mode" | "policy:workspace" | `policy:remembered:${string}`

export type PolicyVerdict =
  | { readonly _tag: "Allow"; readonly by: AllowedBy }
  | { readonly _tag: "Deny"; readonly by: "policy:mode" | "policy:size"; readonly reason: string }
  | { readonly _tag: "Ask" }

/** What is granted in the run's workspace. */
export interface Granted {
  /** Whether the owner's configuration covers a need. */
  readonly configured: (need: Need) => boolean
  /** The id of what a person allowed that covers it. */
  readonly remembered: (need: Need) => string | undefined
}

/** Files of one request that are looked at. */
const MAX_FILES = 64

/** `needs` is what a grant must cover; `undefined` where none can. `isOrdinary` says which files a mode lets write. */
export const judge = (
  mode: RunMode,
  request: ApprovalRequest,
  needs: ReadonlyArray<Need> | undefined,
  { configured, remembered }: Granted,
  isOrdinary: (path: string) => boolean
): PolicyVerdict => {
  const { action, command, files = [], risk, url } = request
  switch (mode) {
    case "read_only":
    case "plan":
      return { _tag: "Deny", by: "policy:mode", reason: `The run's mode is ${mode}: nothing is changed.` }
    case "full_access":
      return { _tag: "Allow", by: "policy:mode" }
    case "auto_edit":
      if (
        action === "write" &&
        risk !== "high" &&
        command === undefined &&
        url === undefined &&
        files.length > 0 &&
        files.length <= MAX_FILES &&
        files.every(isOrdinary)
      ) {
        return { _tag: "Allow", by: "policy:mode" }
      }
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

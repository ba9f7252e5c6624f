/** Permission requests of OpenCode as approvals, from the input of the call that needs it. */
import type { ApprovalRequest } from "@corral/domain/approval/Approval"
import type { Relative } from "../files/RelativePath.ts"
import { toToolApproval } from "../one-shot/ToolApproval.ts"
import { titleLine } from "../text/FirstLine.ts"
import { arrayOf, defined, isJsonObject, objectOf, textOf, textsIn, type JsonObject } from "../text/Json.ts"
import { openCodePatch } from "./ToolParts.ts"

/** The Edge remembers decisions, never OpenCode. */
const scopes = ["once", "run", "session", "always"] as const

interface WaitingPermission {
  readonly callId?: string | undefined
  readonly parentCallId?: string | undefined
  readonly call?: { readonly tool: string; readonly input: JsonObject } | undefined
}

/** The tool of a permission whose call is not known: most permissions have the name of their tool. */
const toolOf = (permission: string): string => (permission === "edit" ? "write" : permission)

const patchOfFiles = (files: ReadonlyArray<JsonObject>, relative: Relative): string | undefined => {
  const patches = files.flatMap((file) => {
    const absolute = textOf(file["filePath"])
    return absolute === undefined ? [] : (openCodePatch(file["patch"], absolute, relative(absolute)) ?? [])
  })
  return patches.length === 0 ? undefined : patches.join("")
}

/** A patch for several files. The program names the files of each change, moved ones too. */
const toPatchApproval = (
  reported: ReadonlyArray<JsonObject>,
  { call, ...ids }: WaitingPermission,
  relative: Relative
): ApprovalRequest => {
  const paths = [...textsIn(reported, "filePath"), ...textsIn(reported, "movePath")]
  const files = [...new Set(paths.map(relative))]
  return {
    action: "write",
    risk: "low",
    title: titleLine(`Edit ${files.join(", ")}`),
    tool: call?.tool ?? "apply_patch",
    files,
    ...defined({ ...ids, patch: patchOfFiles(reported, relative) }),
    input: call?.input ?? {},
    editable: false,
    scopes
  }
}

export const toOpenCodeApproval = (
  request: JsonObject,
  waiting: WaitingPermission,
  relative: Relative
): ApprovalRequest => {
  const permission = textOf(request["permission"]) ?? "unknown"
  const metadata = objectOf(request["metadata"])
  const patched = arrayOf(metadata["files"]).filter(isJsonObject)
  if (permission === "edit" && patched.length > 0) return toPatchApproval(patched, waiting, relative)
  const { call, ...ids } = waiting
  const file = textOf(metadata["filepath"])
  const patch =
    permission === "edit" && file !== undefined
      ? openCodePatch(metadata["diff"], file, relative(file))
      : undefined
  const approval = toToolApproval(
    { tool: call?.tool ?? toolOf(permission), input: call?.input ?? metadata, ...ids, patch, scopes },
    relative
  )
  if (permission !== "external_directory") return approval
  const folders = arrayOf(request["patterns"]).filter((pattern) => typeof pattern === "string")
  return { ...approval, title: titleLine(`Use ${folders.join(", ")} for: ${approval.title}`) }
}

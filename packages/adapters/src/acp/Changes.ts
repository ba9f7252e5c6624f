/**
 * Files that a tool call of an agent changes, and their patches.
 *
 * Agents send the text before and after, whole or in part. If the position is unknown, line numbers start at 1.
 */
import type * as Acp from "@agentclientprotocol/sdk"
import { draft } from "@corral/domain/run/RunEvent"
import type { AdapterEvent } from "@corral/domain/run/RuntimeAdapter"
import { endsOfMove, pathsIn } from "../files/InputPaths.ts"
import { defined, isJsonObject, objectOf, textOf } from "../text/Json.ts"
import type { Relative } from "../files/RelativePath.ts"
import { textLinesOf, unifiedDiff, type Hunk } from "../text/UnifiedDiff.ts"
import type { DiffMeta, RawOutput, UnverifiedFields } from "./AcpSchema.ts"
import { inputPathOf, type ToolCall } from "./ToolCall.ts"

/** Change of one file. `before` is undefined for a new file, or if unknown. */
interface Change {
  readonly path: string
  readonly before: string | undefined
  readonly after: string
  readonly change: "created" | "modified" | "deleted"
}

const changesOf = (call: ToolCall): ReadonlyArray<Change> => {
  const changes = new Map<string, Change>()
  for (const { _meta, newText, oldText, path, type } of call.content) {
    if (type !== "diff" || typeof path !== "string" || typeof newText !== "string") continue
    const { kind }: UnverifiedFields<DiffMeta> = objectOf(_meta)
    const before = textOf(oldText)
    // No text before, and no report that the file existed.
    const isNew = kind === "add" || (!before && kind !== "modify" && existedBefore(call) !== true)
    const fullPath = fullPathOf(path, call)
    const change = changeOf(kind === "delete", isNew)
    changes.set(fullPath, { path: fullPath, before, after: newText, change })
  }
  const fromInput = changes.size > 0 ? undefined : changeOfInput(call)
  return fromInput === undefined ? [...changes.values()] : [fromInput]
}

/** Full path of a changed file. Some agents send only its name with a change, and the path in the input or the locations. */
const fullPathOf = (path: string, call: ToolCall): string =>
  path.includes("/")
    ? path
    : ([inputPathOf(call), ...call.locations].find((other) => other?.endsWith(`/${path}`) === true) ?? path)

const changeOf = (isDeleted: boolean, isNew: boolean): Change["change"] =>
  isDeleted ? "deleted" : isNew ? "created" : "modified"

/** Change in the input of an edit, from agents that send no diffs: a replaced text, or the whole content. */
const changeOfInput = (call: ToolCall): Change | undefined => {
  const { input, kind } = call
  const path = inputPathOf(call)
  if (kind !== "edit" || path === undefined) return undefined
  const before = textOf(input["oldString"]) ?? textOf(input["old_string"])
  const after = textOf(input["newString"]) ?? textOf(input["new_string"])
  if (before !== undefined && after !== undefined)
    return { path, before, after, change: changeOf(false, before === "" && existedBefore(call) !== true) }
  const content = textOf(input["content"])
  // The earlier content is unknown, so this is a new file unless the result says that it existed.
  return content === undefined
    ? undefined
    : { path, before: undefined, after: content, change: changeOf(false, existedBefore(call) !== true) }
}

/** Whether the call has a change, as a diff or in its input. */
export const hasChanges = (call: ToolCall): boolean => changesOf(call).length > 0

/** Complete by its type: a field that the protocol adds to a diff has to be understood first. */
const diffFields: Readonly<Record<keyof Acp.Diff | "type", true>> = {
  type: true,
  path: true,
  oldText: true,
  newText: true,
  _meta: true
}
const DIFF_KINDS = ["add", "modify", "update", "delete"]

const isPlainDiffMeta = (meta: unknown): boolean =>
  meta === undefined ||
  meta === null ||
  (isJsonObject(meta) &&
    Object.entries(meta).every(
      ([name, value]) => name === "kind" && DIFF_KINDS.includes(textOf(value) ?? "")
    ))

/** Whether each diff of the call is for a single file and has no unknown field. */
export const hasOnlyPlainDiffs = ({ content }: ToolCall): boolean =>
  content.every((block) => {
    if (block.type !== "diff") return true
    const { _meta, newText, oldText, path } = block
    const isOneFile = typeof path === "string" && typeof newText === "string"
    const hasBefore = oldText === undefined || oldText === null || typeof oldText === "string"
    return (
      isOneFile &&
      hasBefore &&
      isPlainDiffMeta(_meta) &&
      Object.keys(block).every((name) => Object.hasOwn(diffFields, name))
    )
  })

/** All files of a call: in its changes, its input and its locations. */
export const filesInCall = (call: ToolCall, relative: Relative): ReadonlyArray<string> => {
  const files = new Set<string>()
  for (const { path } of changesOf(call)) files.add(relative(path))
  const target = inputPathOf(call)
  if (target !== undefined) files.add(relative(target))
  for (const path of call.locations) files.add(relative(path))
  return [...files]
}

/** The same with every other path of the input. An approval shows all of them. */
export const filesNamedBy = (call: ToolCall, relative: Relative): ReadonlyArray<string> => [
  ...new Set([
    ...filesInCall(call, relative),
    ...[...pathsIn(call.input), ...(endsOfMove(call.input) ?? [])].map(relative)
  ])
]

const CONTEXT = 3

/** The difference of two texts as one hunk, without their common beginning and end except for a few lines of context. */
const hunkOf = (before: string, after: string): Hunk => {
  const [old, now] = [textLinesOf(before), textLinesOf(after)]
  const shorter = Math.min(old.length, now.length)
  let head = 0
  while (head < shorter && old[head] === now[head]) head++
  let tail = 0
  while (tail < shorter - head && old.at(-1 - tail) === now.at(-1 - tail)) tail++
  const from = Math.max(0, head - CONTEXT)
  const contextAfter = Math.min(tail, CONTEXT)
  const oldEnd = old.length - tail
  const nowEnd = now.length - tail
  const oldLines = oldEnd + contextAfter - from
  const newLines = nowEnd + contextAfter - from
  return {
    oldStart: oldLines === 0 ? 0 : from + 1,
    oldLines,
    newStart: newLines === 0 ? 0 : from + 1,
    newLines,
    lines: [
      ...old.slice(from, head).map((line) => ` ${line}`),
      ...old.slice(head, oldEnd).map((line) => `-${line}`),
      ...now.slice(head, nowEnd).map((line) => `+${line}`),
      ...old.slice(oldEnd, oldEnd + contextAfter).map((line) => ` ${line}`)
    ]
  }
}

/** A patch for each file. */
const patchesOf = (changes: ReadonlyArray<Change>, relative: Relative): ReadonlyMap<string, string> =>
  new Map(
    changes.map((change) => {
      const path = relative(change.path)
      const hunks = [hunkOf(change.before ?? "", change.after)]
      return [path, unifiedDiff(path, hunks, change.change === "created")]
    })
  )

/** The changes of the call as one patch; `undefined` if it has none. */
export const patchOf = (call: ToolCall, relative: Relative): string | undefined => {
  const patches = [...patchesOf(changesOf(call), relative).values()]
  return patches.length === 0 ? undefined : patches.join("")
}

/** Events for the files that a successful call has read or changed. */
export const filesTouchedBy = (call: ToolCall, relative: Relative): ReadonlyArray<AdapterEvent> => {
  const { kind } = call
  const source = { callId: call.callId, ...defined({ parentCallId: call.parentCallId }) }
  if (kind === "read")
    return filesInCall(call, relative).map((path) => draft("run.file.read", { path, ...source }))
  const changes = changesOf(call)
  if (changes.length > 0) {
    const patches = patchesOf(changes, relative)
    return changes.flatMap(({ change, path: absolute }) => {
      const path = relative(absolute)
      return [
        draft("run.patch.proposed", { path, patch: patches.get(path) ?? "", ...source }),
        draft("run.file.changed", { path, change, ...source })
      ]
    })
  }
  if (kind !== "edit" && kind !== "delete") return []
  const change = changeOf(kind === "delete", existedBefore(call) === false)
  return filesInCall(call, relative).map((path) => draft("run.file.changed", { path, change, ...source }))
}

/** Whether the file existed before the call; `undefined` if unknown. */
const existedBefore = ({ output }: ToolCall): boolean | undefined => {
  const { metadata }: UnverifiedFields<RawOutput> = objectOf(output)
  const { exists }: UnverifiedFields<RawOutput["metadata"]> = objectOf(metadata)
  return typeof exists === "boolean" ? exists : undefined
}

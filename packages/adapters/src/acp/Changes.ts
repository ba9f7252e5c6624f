/**
 * What a tool call of an agent changes: files, and patches of them.
 *
 * Agents show it as text before and after, whole or in part; lines are counted from the first if the position is unknown.
 */
import { draft } from "@corral/domain/run/RunEvent"
import type { AdapterEvent } from "@corral/domain/run/RuntimeAdapter"
import { pathsIn } from "../files/InputPaths.ts"
import { isJsonObject, objectOf, textOf } from "../text/Json.ts"
import type { Relative } from "../files/RelativePath.ts"
import { endsOfMove } from "../files/KnownFields.ts"
import { textLinesOf, unifiedDiff, type Hunk } from "../text/UnifiedDiff.ts"
import { inputPathOf, type ToolCall } from "./ToolCall.ts"

/** What a call says of a file: text before and after. */
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
    const told = textOf(objectOf(_meta)["kind"])
    const before = textOf(oldText)
    // No text before, and no report that the file existed.
    const created = told === "add" || (!before && told !== "modify" && wasThere(call) !== true)
    const named = wholePathOf(path, call)
    changes.set(named, { path: named, before, after: newText, change: changeOf(told === "delete", created) })
  }
  const named = changes.size > 0 ? undefined : changeOfInput(call)
  return named === undefined ? [...changes.values()] : [named]
}

/** Some agents show a change under the file's name alone: its path is what else they say of the call. */
const wholePathOf = (path: string, call: ToolCall): string =>
  path.includes("/")
    ? path
    : ([inputPathOf(call), ...call.locations].find((other) => other?.endsWith(`/${path}`) === true) ?? path)

const changeOf = (deleted: boolean, created: boolean): Change["change"] =>
  deleted ? "deleted" : created ? "created" : "modified"

/** What the input of an edit says, for agents that show no changes: a piece of text, or the whole. */
const changeOfInput = (call: ToolCall): Change | undefined => {
  const { input, kind } = call
  const path = inputPathOf(call)
  if (kind !== "edit" || path === undefined) return undefined
  const before = textOf(input["oldString"]) ?? textOf(input["old_string"])
  const after = textOf(input["newString"]) ?? textOf(input["new_string"])
  if (before !== undefined && after !== undefined)
    return { path, before, after, change: changeOf(false, before === "" && wasThere(call) !== true) }
  const content = textOf(input["content"])
  // What stood there only the disk knows, so it reads as a new file where the result does not tell.
  return content === undefined
    ? undefined
    : { path, before: undefined, after: content, change: changeOf(false, wasThere(call) !== true) }
}

/** Whether the call shows a change, or tells one in its input. */
export const hasChanges = (call: ToolCall): boolean => changesOf(call).length > 0

const DIFF_FIELDS = new Set(["type", "path", "oldText", "newText", "_meta"])
const DIFF_KINDS = ["add", "modify", "update", "delete"]

/** Whether each change that the call shows is one of a single file, all of which is understood. */
export const showsOnlyChanges = ({ content }: ToolCall): boolean =>
  content.every((block) => {
    if (block["type"] !== "diff") return true
    const { _meta, newText, oldText, path } = block
    const isOneFile = typeof path === "string" && typeof newText === "string"
    const hasBefore = oldText === undefined || oldText === null || typeof oldText === "string"
    const isPlain =
      _meta === undefined ||
      _meta === null ||
      (isJsonObject(_meta) &&
        Object.entries(_meta).every(
          ([name, told]) => name === "kind" && DIFF_KINDS.includes(textOf(told) ?? "")
        ))
    return isOneFile && hasBefore && isPlain && Object.keys(block).every((name) => DIFF_FIELDS.has(name))
  })

/** All files that the call names: in its changes, in its input, and for an editor to show. */
export const filesInCall = (call: ToolCall, relative: Relative): ReadonlyArray<string> => {
  const files = new Set<string>()
  for (const { path } of changesOf(call)) files.add(relative(path))
  const named = inputPathOf(call)
  if (named !== undefined) files.add(relative(named))
  for (const path of call.locations) files.add(relative(path))
  return [...files]
}

/** The same with every other path of the input: what an approval has to show. */
export const filesNamedBy = (call: ToolCall, relative: Relative): ReadonlyArray<string> => [
  ...new Set([
    ...filesInCall(call, relative),
    ...[...pathsIn(call.input), ...(endsOfMove(call.input) ?? [])].map(relative)
  ])
]

const CONTEXT = 3

/** What differs between two texts, with some lines around it: what they begin and end with alike is left out. */
const hunkOf = (before: string, after: string): Hunk => {
  const [old, now] = [textLinesOf(before), textLinesOf(after)]
  const shorter = Math.min(old.length, now.length)
  let head = 0
  while (head < shorter && old[head] === now[head]) head++
  let tail = 0
  while (tail < shorter - head && old.at(-1 - tail) === now.at(-1 - tail)) tail++
  const from = Math.max(0, head - CONTEXT)
  const kept = Math.min(tail, CONTEXT)
  const oldEnd = old.length - tail
  const nowEnd = now.length - tail
  const oldLines = oldEnd + kept - from
  const newLines = nowEnd + kept - from
  return {
    oldStart: oldLines === 0 ? 0 : from + 1,
    oldLines,
    newStart: newLines === 0 ? 0 : from + 1,
    newLines,
    lines: [
      ...old.slice(from, head).map((line) => ` ${line}`),
      ...old.slice(head, oldEnd).map((line) => `-${line}`),
      ...now.slice(head, nowEnd).map((line) => `+${line}`),
      ...old.slice(oldEnd, oldEnd + kept).map((line) => ` ${line}`)
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

/** What the call would change, as one patch; `undefined` where it tells no change. */
export const patchOf = (call: ToolCall, relative: Relative): string | undefined => {
  const patches = [...patchesOf(changesOf(call), relative).values()]
  return patches.length === 0 ? undefined : patches.join("")
}

/** Files that a call which succeeded has read or changed. */
export const filesTouchedBy = (call: ToolCall, relative: Relative): ReadonlyArray<AdapterEvent> => {
  const { callId, kind } = call
  if (kind === "read")
    return filesInCall(call, relative).map((path) => draft("run.file.read", { path, callId }))
  const changes = changesOf(call)
  if (changes.length > 0) {
    const patches = patchesOf(changes, relative)
    return changes.flatMap(({ change, path: absolute }) => {
      const path = relative(absolute)
      return [
        draft("run.patch.proposed", { path, patch: patches.get(path) ?? "", callId }),
        draft("run.file.changed", { path, change, callId })
      ]
    })
  }
  if (kind !== "edit" && kind !== "delete") return []
  const change = changeOf(kind === "delete", wasThere(call) === false)
  return filesInCall(call, relative).map((path) => draft("run.file.changed", { path, change, callId }))
}

/** Whether the file was there before, where the result tells. */
const wasThere = ({ output }: ToolCall): boolean | undefined => {
  const { exists } = objectOf(objectOf(output)["metadata"])
  return typeof exists === "boolean" ? exists : undefined
}

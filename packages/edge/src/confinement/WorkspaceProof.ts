/**
 * Proof that files of conversations belong to a workspace, in a run's private state or in the user's. A run may have written the files.
 *
 * Guarantees: a file that names a workspace belongs to that one. Another file belongs to what the naming file of its conversation names. No link is
 * followed, and nothing is waited for.
 */
import type { ConversationFiles, JsonPath } from "@corral/domain/run/RuntimeFolders"
import { constants } from "node:fs"
import { open } from "node:fs/promises"
import { join } from "node:path"
import {
  entriesMatching,
  type PatternBindings,
  type PatternFacts,
  type StateEntry,
  StatePattern
} from "./StateFiles.ts"

const MAX_LINE = 1_048_576

/** The value of a member in the first line. */
const firstLineMember = (text: string, at: JsonPath): unknown => {
  try {
    return at.reduce<unknown>(
      (value, name) => (typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined),
      JSON.parse(text.split("\n", 1)[0] ?? "")
    )
  } catch {
    return undefined
  }
}

/** The start of a regular file; `undefined` if it is something else. */
const startOf = async (path: string): Promise<string | undefined> => {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(
    () => undefined
  )
  if (file === undefined) return undefined
  try {
    if (!(await file.stat()).isFile()) return undefined
    const bytes = Buffer.alloc(MAX_LINE)
    const { bytesRead } = await file.read(bytes, 0, MAX_LINE, 0)
    return bytes.toString("utf8", 0, bytesRead)
  } finally {
    await file.close()
  }
}

/** Whether a file of a conversation says that it is of the workspace. */
export const namesWorkspace = async (
  path: string,
  { at, file }: NonNullable<ConversationFiles["workspace"]>,
  workspace: string
): Promise<boolean> => {
  if (at === undefined && file.includes("{workspace")) return true
  const text = await startOf(path)
  if (text === undefined) return false
  return (at === undefined ? text.trim() : firstLineMember(text, at)) === workspace
}

const isBound = (a: string | undefined, b: string | undefined): boolean =>
  a === undefined || b === undefined || a === b

const belongTogether = (a: PatternBindings, b: PatternBindings): boolean =>
  isBound(a.session, b.session) && isBound(a.project, b.project)

/** Whether a file below `root` belongs to the workspace. `isAccepted`: whether a file that names it counts. */
export const workspaceProof = async (
  root: string,
  { workspace: naming }: ConversationFiles,
  facts: PatternFacts,
  isAccepted: (entry: StateEntry) => Promise<boolean>
): Promise<(entry: StateEntry) => boolean> => {
  if (naming === undefined) return () => true
  const pattern = new StatePattern(naming.file, facts)
  const proofs = new Map<string, PatternBindings>()
  for (const entry of await entriesMatching(root, [pattern])) {
    const { bindings, path, stat } = entry
    const isNaming = stat.isFile() && (await namesWorkspace(join(root, path), naming, facts.workspace))
    if (isNaming && (await isAccepted(entry))) proofs.set(path, bindings)
  }
  return ({ bindings, path }) =>
    pattern.matches(path)
      ? proofs.has(path)
      : [...proofs.values()].some((proof) => belongTogether(proof, bindings))
}

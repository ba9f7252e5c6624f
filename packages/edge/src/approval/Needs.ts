/**
 * What a request needs to be granted, rule by rule.
 *
 * A need is exact: the same words in the same folder, the same file for the same tool, the same host. Where something of a request cannot
 * be granted, nothing of it can. Pure but for the file system that `Place` asks.
 */
import type { ApprovalRequest } from "@corral/domain/approval/Approval"
import { GrantRule } from "@corral/domain/approval/Grant"
import { Schema } from "effect"
import { holdOf } from "./Interpreters.ts"
import { touchesInsideOnly } from "./NamedPaths.ts"
import { isRepositoryName } from "./FoldedName.ts"
import { isGrantableTarget, type WorkspacePaths } from "./PathTarget.ts"
import type { ParsedSegment } from "./ParsedSegment.ts"
import { inFolder } from "./ShellCommand.ts"

/** A rule that covers one thing. */
export type Need = GrantRule

const MAX_NEEDS = 64
const areRules = Schema.is(Schema.Array(GrantRule).check(Schema.isMaxLength(MAX_NEEDS)))

/** Everything that must be covered before the request is; `undefined` where a grant cannot. */
export const needsOf = (
  request: ApprovalRequest,
  segments: ReadonlyArray<ParsedSegment>,
  place: WorkspacePaths
): ReadonlyArray<Need> | undefined => {
  const { action, command, files = [], input, tool, url } = request
  if (action === "publish" || action === "deploy") return undefined
  if (files.length > MAX_NEEDS) return undefined
  const named = tool === undefined ? {} : { tool }
  const needs: Array<Need | undefined> = []
  if (command !== undefined) needs.push(...shellNeeds(segments, request.cwd ?? ".", place))
  for (const file of files) {
    const target = place.targetOf(file)
    needs.push(isGrantableTarget(target) ? { action: "write", files: [target.path], ...named } : undefined)
  }
  if (url !== undefined) {
    const host = hostOf(url)
    needs.push(host === undefined ? undefined : { action: "network", host, ...named })
  }
  if (!saysAll(request)) {
    const named = tool !== undefined && input !== undefined
    needs.push(named ? { action: "tool", tool, input: JSON.stringify(input) } : undefined)
  }
  // A line that only moves its shell needs nothing, so no grant can allow it. What does not fit a rule is too long for one.
  return needs.length > 0 && areRules(needs) ? needs : undefined
}

/**
 * Whether command, files and address say what would happen. What is no plain write or fetch may do with them what only its input says: a
 * tool that names a file may run it.
 */
const saysAll = ({ action, command, files = [], url }: ApprovalRequest): boolean =>
  command !== undefined ||
  (files.length > 0 && action === "write") ||
  (url !== undefined && action === "network")

const hostOf = (url: string): string | undefined => {
  if (!URL.canParse(url)) return undefined
  const { host, password, protocol, username } = new URL(url)
  const plain = (protocol === "https:" || protocol === "http:") && username === "" && password === ""
  return plain ? host : undefined
}

/** The real folder of a command, or `undefined` where it is not in the workspace or is Git's own. */
const folderOf = (path: string, place: WorkspacePaths): string | undefined => {
  const target = place.targetOf(path)
  return isGrantableTarget(target) && target.kind !== "file" ? target.path : undefined
}

/** A word that names git's own folder, as an option's value too: `-t.git/hooks`, `--output=.git/config`, `@.git/x`. */
const namesRepository = (word: string): boolean =>
  word
    .replace(/^-[A-Za-z0-9]+/, "")
    .split(/[^\w./\\~-]/)
    .some(isRepositoryName)

const shellNeeds = (
  segments: ReadonlyArray<ParsedSegment>,
  cwd: string,
  place: WorkspacePaths
): ReadonlyArray<Need | undefined> =>
  segments.flatMap((segment): ReadonlyArray<Need | undefined> => {
    const { assignments, exact, input, opaque, words } = segment
    if (opaque !== undefined || !exact || segment.cwd === undefined) return [undefined]
    const folder = folderOf(inFolder(cwd, segment.cwd), place)
    if (folder === undefined || holdOf(segment.inner) === "never") return [undefined]
    if (words.some(namesRepository)) return [undefined]
    const writes = segment.writes.map(({ append, file }) => {
      const target = place.targetOf(file, folder)
      return isGrantableTarget(target)
        ? { file: target.path, ...(append ? { append: true as const } : {}) }
        : undefined
    })
    if (writes.includes(undefined)) return [undefined]
    if (words[0] === "cd" && writes.length === 0) {
      return folderOf(inFolder(folder, words[1] ?? ""), place) === undefined ? [undefined] : []
    }
    return [
      {
        action: "shell",
        command: [...assignments, ...words],
        ...(folder === "." ? {} : { cwd: folder }),
        ...(input === undefined ? {} : { input }),
        ...(writes.length === 0 ? {} : { writes: writes.filter((write) => write !== undefined) })
      }
    ]
  })

/**
 * Whether a person's decision may be remembered. A command that names a file outside of the workspace asks each time, because the file may
 * be another one by then.
 */
export const isRememberable = (need: Need, place: WorkspacePaths): boolean =>
  need.action !== "shell" || touchesInsideOnly(need.command, need.input, need.cwd ?? ".", place)

/**
 * Needs of a request: the rules that must be granted.
 *
 * Guarantees: a need is exact: the same words in the same folder, the same file for the same tool, the same host. If a part of a request cannot
 * be granted, the request cannot. Pure, except for the file system that `Place` reads.
 */
import type { ApprovalRequest } from "@corral/domain/approval/Approval"
import { GrantRule } from "@corral/domain/approval/Grant"
import { Schema } from "effect"
import { grantabilityOf } from "./Interpreters.ts"
import { touchesInsideOnly } from "./NamedPaths.ts"
import { isRepositoryName } from "./FileNames.ts"
import { isGrantableTarget, type WorkspacePaths } from "./PathTarget.ts"
import type { ParsedSegment } from "./ParsedSegment.ts"
import { inFolder } from "./ShellCommand.ts"

/** A rule that covers exactly one action. */
export type Need = GrantRule

const MAX_NEEDS = 64
const areRules = Schema.is(Schema.Array(GrantRule).check(Schema.isMaxLength(MAX_NEEDS)))

/** All needs of a request; `undefined` if a grant cannot cover it. */
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
  // A line that only changes its folder needs nothing, so no grant can allow it. A need that exceeds a rule's length cannot be granted.
  return needs.length > 0 && areRules(needs) ? needs : undefined
}

/**
 * Whether the command, files and address describe the whole action. A tool other than a plain write or fetch may do more with them, as its
 * input says: it may run a file that it names.
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

/** The real folder of a command; `undefined` if it is outside the workspace or part of Git's data. */
const folderOf = (path: string, place: WorkspacePaths): string | undefined => {
  const target = place.targetOf(path)
  return isGrantableTarget(target) && target.kind !== "file" ? target.path : undefined
}

/** A word that names git's own folder, also as an option's value: `-t.git/hooks`, `--output=.git/config`, `@.git/x`. */
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
    if (folder === undefined || grantabilityOf(segment.inner) === "never") return [undefined]
    if (words.some(namesRepository)) return [undefined]
    const writes = segment.writes.map(({ append, file }) => {
      const target = place.targetOf(file, folder)
      // With a slash at its end, a path names a folder.
      return isGrantableTarget(target) && !file.endsWith("/")
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
 * Whether a decision can be remembered. A command that names a file outside the workspace asks each time, because the file can be replaced.
 */
export const isRememberable = (need: Need, place: WorkspacePaths): boolean =>
  need.action !== "shell" || touchesInsideOnly(need.command, need.input, need.cwd ?? ".", place)

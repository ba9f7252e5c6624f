/**
 * Change set of a scripted run: files with hunks, decisions about them, and what a test wants of the next decision.
 *
 * Does as an Edge: a decided part disappears, an unknown one is outdated, an undo brings parts back. *Does not:* merge or write anything.
 */
import type {
  AcceptChanges,
  ApartReason,
  ChangedFile,
  ChangeDecision,
  ChangeHunk,
  ChangeSelection,
  ChangeSet,
  ConflictSides,
  RejectChanges,
  UndoChanges
} from "@corral/domain/edge-api/ChangeSet"
import { errorTable, isErrorCode } from "@corral/domain/errors/ErrorCodes"
import { createHash } from "node:crypto"

export interface ScriptedFile {
  readonly path: string
  readonly status?: ChangedFile["status"]
  readonly whole?: ChangedFile["whole"]
  readonly apart?: ReadonlyArray<ApartReason>
  readonly conflict?: true
  readonly binary?: boolean
  /** Lines of each hunk, with their signs, and where it starts. */
  readonly hunks?: ReadonlyArray<{ readonly start: number; readonly lines: ReadonlyArray<string> }>
  /** Lines around the hunks that more context shows, above the first one. */
  readonly above?: ReadonlyArray<string>
  readonly sides?: Omit<ConflictSides, "id" | "path">
}

/** An answer to the next decision instead of the one of an Edge. */
export interface ScriptedRefusal {
  readonly status: number
  readonly code: string
  readonly details?: object
}

interface Facts {
  readonly runId: string
  readonly sessionId: string
  readonly user: string
}

interface Part {
  readonly file: ScriptedFile
  hunks: ReadonlyArray<ChangeHunk>
}

type Answer = readonly [status: number, body: unknown]

const idOf = (prefix: string, text: string): string =>
  `${prefix}_${Buffer.from(text).toString("hex").slice(0, 60).padEnd(20, "0")}`

/** The same for the same content. */
const hashOf = (content: unknown): string =>
  createHash("sha256").update(JSON.stringify(content)).digest("hex").slice(0, 32)

const countOf = (hunks: ReadonlyArray<ChangeHunk>, mark: string): number =>
  hunks.reduce((sum, { lines }) => sum + lines.filter((line) => line.startsWith(mark)).length, 0)

const errorOf = (code: string, details: object = {}) => ({
  code,
  message: isErrorCode(code) ? errorTable[code].message : code,
  retryable: false,
  requestId: "req_1",
  details
})

const hunksOf = ({ hunks = [], path, whole }: ScriptedFile): ReadonlyArray<ChangeHunk> =>
  hunks.map(({ lines, start }, at) => {
    const of = (mark: string) => lines.filter((line) => line[0] === " " || line[0] === mark).length
    return {
      id: idOf("chk", whole === undefined ? `${at} ${path}` : `whole ${path}`) as ChangeHunk["id"],
      oldStart: start,
      oldLines: of("-"),
      newStart: start,
      newLines: of("+"),
      lines
    }
  })

export class ScriptedChanges {
  /** Whether a run of the set is live. */
  live = false
  /** Whether the run wrote into the workspace itself. */
  direct = false
  /** Refuses the next decision. */
  refusal: ScriptedRefusal | undefined
  /** Holds decisions until the test releases them. */
  hold: Promise<void> | undefined
  extra: Partial<Pick<ChangeSet, "ignored" | "commits" | "incomplete">> = {}
  readonly decisions: Array<ChangeDecision> = []
  private parts: Array<Part> = []
  private readonly removed = new Map<string, ReadonlyArray<Part>>()
  private revision = 1

  constructor(files: ReadonlyArray<ScriptedFile>) {
    this.parts = files.map((file) => ({ file, hunks: hunksOf(file) }))
  }

  /** Replaces a file, as a turn does. */
  change(file: ScriptedFile): void {
    this.revision++
    const others = this.parts.filter((part) => part.file.path !== file.path)
    this.parts = [...others, { file, hunks: hunksOf(file) }]
  }

  get state(): ChangeSet["state"] {
    if (this.parts.length > 0 && !this.direct) return "open"
    return this.parts.length + this.decisions.length > 0 ? "decided" : "empty"
  }

  get fileCount(): number {
    return this.parts.length
  }

  setOf({ runId, sessionId }: Facts): unknown {
    const hunks = this.parts.flatMap((part) => part.hunks)
    return {
      id: `chs_${runId.slice(4)}`,
      runId,
      sessionId,
      agentId: "claude",
      workspace: "shop",
      isolation: this.direct ? "none" : "worktree",
      state: this.state,
      version: `set ${this.revision}`,
      fileCount: this.parts.length,
      additions: countOf(hunks, "+"),
      deletions: countOf(hunks, "-"),
      apart: this.parts.filter(({ file }) => file.apart !== undefined).length,
      conflicts: this.parts.filter(({ file }) => file.conflict === true).length,
      live: this.live,
      direct: this.direct,
      ignored: [],
      commits: [],
      ...this.extra,
      decisions: this.decisions
    }
  }

  private shown({ file, hunks }: Part): unknown {
    const { above: _above, hunks: _hunks, sides: _sides, ...fields } = file
    return {
      status: "modified",
      binary: false,
      ...fields,
      id: idOf("chf", file.path),
      additions: countOf(hunks, "+"),
      deletions: countOf(hunks, "-"),
      hunks: file.whole === undefined ? hunks.length : 1,
      version: hashOf([file.path, hunks]),
      ...(file.status === "deleted" ? {} : { result: hashOf([file.path, file.hunks]) })
    }
  }

  /** Answer to a read below `…/changes`. */
  read(path: string, query: URLSearchParams, facts: Facts): Answer {
    const set = this.setOf(facts)
    const ordered = this.parts.toSorted((a, b) => (a.file.path < b.file.path ? -1 : 1))
    const [, fileId] = /\/changes\/files\/([^/]+)$/.exec(path) ?? []
    if (fileId === undefined)
      return [200, { items: ordered.map((part) => this.shown(part)), nextCursor: null, set }]
    const part = this.parts.find(({ file }) => idOf("chf", file.path) === fileId)
    if (part === undefined) return [404, errorOf("not_found")]
    const { above = [], path: name, sides } = part.file
    const isWide = Number(query.get("context") ?? 3) > 3
    const items = part.hunks.map((hunk, at) =>
      isWide && at === 0
        ? {
            ...hunk,
            oldStart: hunk.oldStart - above.length,
            newStart: hunk.newStart - above.length,
            oldLines: hunk.oldLines + above.length,
            newLines: hunk.newLines + above.length,
            lines: [...above.map((line) => ` ${line}`), ...hunk.lines]
          }
        : hunk
    )
    const shown = { items, nextCursor: null, file: this.shown(part), version: `set ${this.revision}` }
    return [200, sides === undefined ? shown : { ...shown, sides: { ...sides, id: fileId, path: name } }]
  }

  /** Files that are decided, with the hunks of each. `undefined` if a part is not there. */
  private selected(parts: ChangeSelection): ReadonlyArray<Part> | undefined {
    if ("all" in parts)
      return parts.version === `set ${this.revision}`
        ? this.parts.filter(({ file }) => file.apart === undefined)
        : undefined
    const { files = [], hunks = [], versions = {} } = parts
    const byFile = files.map((id) => this.parts.find(({ file }) => idOf("chf", file.path) === id))
    const isChanged = byFile.some(
      (part, at) =>
        part === undefined ||
        (Object.entries(versions).find(([id]) => id === files[at])?.[1] ??
          (this.shown(part) as ChangedFile).version) !== (this.shown(part) as ChangedFile).version
    )
    const all = this.parts.flatMap((part) => part.hunks.map(({ id }) => id))
    if (isChanged || hunks.some((id) => !all.includes(id))) return undefined
    const byHunk = this.parts.flatMap(({ file, hunks: ofFile }) => {
      const chosen = ofFile.filter(({ id }) => hunks.includes(id))
      return chosen.length === 0 ? [] : [{ file, hunks: chosen }]
    })
    return [...byFile.flatMap((part) => part ?? []), ...byHunk]
  }

  private record(kind: ChangeDecision["kind"], parts: ReadonlyArray<Part>, facts: Facts, more: object) {
    const hunks = parts.flatMap((part) => part.hunks)
    const decision = {
      id: `chd_${String(this.decisions.length + 1).padStart(4, "0")}`,
      changeSetId: `chs_${facts.runId.slice(4)}`,
      runId: facts.runId,
      kind,
      by: facts.user,
      origin: "console",
      files: parts.map(({ file, hunks: { length } }) => ({
        id: idOf("chf", file.path),
        path: file.path,
        hunks: length
      })),
      fileCount: parts.length,
      additions: countOf(hunks, "+"),
      deletions: countOf(hunks, "-"),
      patchHash: "0".repeat(64),
      at: new Date().toISOString(),
      ...more
    } as unknown as ChangeDecision
    this.decisions.unshift(decision)
    this.revision++
    return decision
  }

  /** Answer to a decision. `kind` is the last part of its path. */
  async decide(kind: string, body: unknown, facts: Facts): Promise<Answer> {
    await this.hold
    const refused = this.refusal
    this.refusal = undefined
    if (refused !== undefined) return [refused.status, errorOf(refused.code, refused.details)]
    if (this.live) return [409, errorOf("run_active")]
    const decision =
      kind === "undo"
        ? this.undo(body as UndoChanges, facts)
        : this.take(kind as "accept" | "reject", body as AcceptChanges & RejectChanges, facts)
    return decision === undefined
      ? [409, errorOf("changes_outdated")]
      : [200, { decision, set: this.setOf(facts) }]
  }

  private take(kind: "accept" | "reject", { comment, parts }: AcceptChanges & RejectChanges, facts: Facts) {
    const selected = this.selected(parts)
    if (selected === undefined) return undefined
    const taken = new Set(selected.flatMap(({ hunks }) => hunks.map(({ id }) => id)))
    const whole = new Set(selected.filter((part) => this.parts.includes(part)))
    this.parts = this.parts
      .map((part) => ({
        ...part,
        hunks: part.hunks.filter(({ id }) => !taken.has(id)),
        isWhole: whole.has(part)
      }))
      .filter(({ hunks, isWhole }) => hunks.length > 0 && !isWhole)
      .map(({ file, hunks }) => ({ file, hunks }))
    const decision = this.record(kind, selected, facts, comment === undefined ? {} : { comment })
    this.removed.set(decision.id, selected)
    return decision
  }

  private undo({ decisionId }: UndoChanges, facts: Facts) {
    if (decisionId === undefined) {
      const taken = this.parts
      this.parts = []
      return this.record("undo", taken, facts, {})
    }
    const parts = this.removed.get(decisionId)
    if (parts === undefined) return undefined
    for (const { file, hunks } of parts) {
      const before = this.parts.find((part) => part.file === file)
      if (before === undefined) this.parts.push({ file, hunks })
      else before.hunks = [...before.hunks, ...hunks].toSorted((a, b) => a.oldStart - b.oldStart)
    }
    const undone = this.record("undo", parts, facts, { reverses: decisionId })
    const at = this.decisions.findIndex(({ id }) => id === decisionId)
    const reversed = this.decisions[at]
    if (reversed !== undefined) this.decisions[at] = { ...reversed, reversedBy: undone.id }
    return undone
  }
}

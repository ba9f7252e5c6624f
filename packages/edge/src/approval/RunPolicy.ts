/**
 * Policy of one run: reads a request, decides it, and remembers decisions if the user says so. Synchronous.
 *
 * `Grants.forRun` builds one per run. Decisions for the run end with it. Longer ones are returned as rows, for the transaction that resolves
 * the approval.
 */
import type { ApprovalRequest, DecisionScope } from "@corral/domain/approval/Approval"
import type { Grant, GrantRule } from "@corral/domain/approval/Grant"
import type { ApprovalId, GrantId, SessionId } from "@corral/domain/identity/Ids"
import type { Run } from "@corral/domain/run/Run"
import type { ApprovalAnswer } from "@corral/domain/run/RuntimeAdapter"
import { mint } from "@corral/service/Identifiers"
import type { Write } from "../store/Store.ts"
import type { ProgramPolicy } from "./EdgeApprovalPolicy.ts"
import { isConfinedAction } from "./ConfinedActions.ts"
import { covers, coversFile, ruleKey, withoutWrites } from "./GrantRules.ts"
import { type Need, isRememberable, needsOf } from "./Needs.ts"
import { editAnswer } from "./OrdinaryFiles.ts"
import type { RequestPaths, WorkspacePaths } from "./PathTarget.ts"
import { type PolicyVerdict, type WorkspaceGrants, decideByPolicy } from "./Policy.ts"
import { assessRisk } from "./Risk.ts"
import { segmentsOf } from "./ShellCommand.ts"
import { programOf } from "./ProgramName.ts"
import type { ParsedSegment } from "./ParsedSegment.ts"
import { safeCommand } from "@corral/domain/text/SafeText"
import { realpathSync } from "node:fs"
import { isAbsolute } from "node:path"
import { isWithin } from "../workspace/PathText.ts"

// Folder outside the workspace that a run may read without asking: the files of its conversation.
//
// A request qualifies if it does nothing but read: a tool that only reads the files it names, or one plain command that prints files.

/** Maximum number of files of one request that are examined. */
const MAX_FILES = 64

/** Programs that print the files they name, with any option. */
const printers: ReadonlySet<string> = new Set(["cat", "head", "tail", "wc"])
/** An option without a file, such as `-n` or `-20`, and its number. */
const isPlainOption = (word: string): boolean => /^-[a-z]?[0-9]{0,9}$|^[0-9]{1,9}$/.test(word)
/** The lines that `sed -n` prints. */
const isLineRange = (word: string): boolean => /^[0-9]{1,9}(?:,[0-9]{1,9})?p$/.test(word)

/** Files that a command prints, if it does nothing else. */
const filesPrintedBy = (command: string): ReadonlyArray<string> | undefined => {
  const [segment, ...others] = segmentsOf(command)
  if (segment === undefined || others.length > 0) return undefined
  const { assignments, exact, input, opaque, words, writes } = segment
  if (!exact || opaque !== undefined || input !== undefined || assignments.length > 0 || writes.length > 0)
    return undefined
  const [program = "", ...args] = words
  if (program === "sed") return args[0] === "-n" && isLineRange(args[1] ?? "") ? args.slice(2) : undefined
  return printers.has(program) ? args.filter((word) => !isPlainOption(word)) : undefined
}

const filesReadBy = ({
  command,
  files = [],
  readsOnly,
  url
}: ApprovalRequest): ReadonlyArray<string> | undefined => {
  if (url !== undefined) return undefined
  if (command !== undefined) return files.length === 0 ? filesPrintedBy(command) : undefined
  return readsOnly === true ? files : undefined
}

/** Whether a request does nothing but read existing files whose real paths are in the folder. */
const readsOnlyIn = (folder: string, request: ApprovalRequest): boolean => {
  const files = filesReadBy(request) ?? []
  if (files.length === 0 || files.length > MAX_FILES || !files.every(isAbsolute)) return false
  try {
    const root = realpathSync(folder)
    return files.every((file) => isWithin(root, realpathSync(file)))
  } catch {
    return false
  }
}

// Segments of a command line as users see them before they decide. Characters that are not seen are named.
//
// They are read from the request without secrets, since a part of a secret is not recognized as one.

const SHOWN = 500

/** `segments` are those of the original request. */
const shownSegments = (
  { command }: ApprovalRequest,
  redacted: ApprovalRequest,
  segments: ReadonlyArray<ParsedSegment>
): Pick<ApprovalRequest, "segments"> =>
  redacted.command === undefined
    ? {}
    : { segments: (redacted.command === command ? segments : segmentsOf(redacted.command)).map(segmentShown) }

const segmentShown = ({ inner, opaque, text }: ParsedSegment) => ({
  text: safeCommand(text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text),
  ...(opaque === undefined ? { program: programOf(inner) } : { opaque })
})

/** A request: for the decision, for storage and display, and with the needs of a grant. */
export interface AssessedRequest {
  readonly request: ApprovalRequest
  /** The request without secrets. */
  readonly shown: ApprovalRequest
  readonly needs: ReadonlyArray<Need> | undefined
  /** Number of file system calls for it. */
  readonly lookups: number
}

export interface RunPolicyOptions {
  readonly run: Pick<Run, "workspace" | "agentId" | "sessionId" | "mode">
  readonly place: WorkspacePaths
  /** The run may read files in it in every mode. */
  readonly attachmentFolder?: string | undefined
  /** Rules of the Edge's configuration for this workspace. */
  readonly configured: ReadonlyArray<GrantRule>
  /** The stored grant that covers exactly this: a permanent one, or one for the session. */
  readonly storedGrant: (rule: GrantRule, sessionId: SessionId | undefined) => GrantId | undefined
  readonly put: (grant: Grant) => Write
  /** Whether the kernel confines the run and its workspace has the grant `confined` now. */
  readonly hasConfinedGrant?: (() => boolean) | undefined
  /** Whether the run writes into a layer that the kernel enforces. */
  readonly isLayered?: boolean | undefined
  /** Policy of the embedding program, after this one. */
  readonly program?: ProgramPolicy | undefined
}

/** A decision, with its user and time. */
export interface GrantDecision {
  readonly approvalId: ApprovalId
  readonly by: string
  /** Unix milliseconds. */
  readonly nowMs: number
}

const order: ReadonlyArray<DecisionScope> = ["once", "run", "session", "always"]

interface LastCheck {
  readonly assessed: AssessedRequest
  readonly grants: RequestGrants
  /** Whether the grant `confined` covers the request. */
  readonly isConfinedAction: () => boolean
}

const once = (answer: (need: Need) => boolean): ((need: Need) => boolean) => {
  const answers = new Map<Need, boolean>()
  return (need) => {
    const found = answers.get(need) ?? answer(need)
    answers.set(need, found)
    return found
  }
}

export class RunPolicy {
  private readonly options: RunPolicyOptions
  /** State of the last request's check, so that further checks use the same lookups. */
  private last: LastCheck | undefined
  /** Remembered rules by their key, with the approval that allowed each. */
  private ofRun: Map<string, ApprovalId> | undefined

  constructor(options: RunPolicyOptions) {
    this.options = options
  }

  /**
   * Reads a request: its command line, class, risk and needs. `redacted` is the request without secrets. The shown segments are read from its
   * command, since a part of a secret is not recognized as one.
   */
  assess(request: ApprovalRequest, redacted: ApprovalRequest = request): AssessedRequest {
    const grants = this.newGrants()
    const { look } = grants
    const segments = request.command === undefined ? [] : segmentsOf(request.command)
    const guessed = assessRisk(request, segments, look)
    // If the runtime offers only `once`, it asks each time.
    const repeats = request.scopes.some((scope) => scope !== "once")
    const wanted = repeats ? needsOf({ ...request, ...guessed }, segments, look) : undefined
    const offered = request.scopes.filter(
      (scope) => scope === "once" || this.remembers(scope, wanted, grants)
    )
    // After too many lookups, the other paths are unknown.
    const { isExhausted } = look
    const assessment = isExhausted ? { ...guessed, risk: "high" as const } : guessed
    const needs = isExhausted ? undefined : wanted
    const scopes: ReadonlyArray<DecisionScope> = isExhausted || offered.length === 0 ? ["once"] : offered
    const shown = {
      ...redacted,
      ...assessment,
      editable: request.editable,
      scopes,
      ...shownSegments(request, redacted, segments)
    }
    const result = { request: { ...request, ...assessment, scopes }, shown, needs, lookups: look.calls }
    this.last = {
      assessed: result,
      grants,
      isConfinedAction: () => isConfinedAction(request, segments, look)
    }
    return result
  }

  /** `isWhole`: whether the request was assessed as the runtime sent it. */
  judge(assessed: AssessedRequest, isWhole = true): PolicyVerdict {
    const { needs, request } = assessed
    const last = this.last?.assessed === assessed ? this.last : undefined
    const grants = last?.grants ?? this.newGrants()
    this.last = undefined
    const isOrdinary = (file: string) => editAnswer(grants.look.targetOf(file)).answer === "allow"
    const { attachmentFolder, isLayered, program, run } = this.options
    const ownVerdict: PolicyVerdict =
      isWhole && attachmentFolder !== undefined && readsOnlyIn(attachmentFolder, request)
        ? { _tag: "Allow", by: "policy:attachments" }
        : decideByPolicy(run.mode, request, needs, grants, isOrdinary, isLayered)
    const isGranted =
      ownVerdict._tag === "Ask" && isWhole && run.mode === "ask" && this.options.hasConfinedGrant?.() === true
    const verdict: PolicyVerdict =
      isGranted && last?.isConfinedAction() === true ? { _tag: "Allow", by: "policy:confined" } : ownVerdict
    if (program === undefined) return verdict
    const decided = program({ run, request }, verdict)
    // A part of a request is not enough to allow the whole.
    return decided._tag === "Allow" && !isWhole ? verdict : decided
  }

  /** The answer with the widest offered scope, up to the chosen one. An edited action is allowed once, because it is another action. */
  narrowed({ request: { scopes } }: AssessedRequest, answer: ApprovalAnswer): ApprovalAnswer {
    const most =
      answer.decision === "allow" && answer.updatedInput === undefined ? order.indexOf(answer.scope) : 0
    const scope = order.slice(0, most + 1).findLast((one) => one === "once" || scopes.includes(one)) ?? "once"
    return { ...answer, scope }
  }

  /** Remembers an allowed action. Returns the rows of decisions that outlive the run. */
  remember(
    { needs = [] }: AssessedRequest,
    answer: ApprovalAnswer,
    decided: GrantDecision
  ): ReadonlyArray<Write> {
    const { decision, scope } = answer
    if (decision !== "allow" || scope === "once") return []
    const grants = this.newGrants()
    const missing = needs.filter((need) => !grants.configured(need))
    if (scope === "run") {
      for (const need of missing) (this.ofRun ??= new Map()).set(ruleKey(need), decided.approvalId)
      return []
    }
    // A grant for the session only does not count as a permanent one.
    const sessionId = scope === "session" ? this.options.run.sessionId : undefined
    const unstored = missing.filter((need) => this.options.storedGrant(need, sessionId) === undefined)
    return unstored.map((rule) => this.grant(rule, scope, decided))
  }

  private grant(rule: GrantRule, scope: Grant["scope"], { approvalId, by, nowMs }: GrantDecision): Write {
    const { put, run } = this.options
    return put({
      id: mint<GrantId>("gra", nowMs),
      workspace: run.workspace,
      scope,
      ...(scope === "session" && run.sessionId !== undefined ? { sessionId: run.sessionId } : {}),
      agentId: run.agentId,
      rule,
      createdAt: new Date(nowMs).toISOString(),
      by,
      approvalId
    })
  }

  private remembers(
    scope: DecisionScope,
    needs: ReadonlyArray<Need> | undefined,
    grants: RequestGrants
  ): boolean {
    if (needs === undefined || (scope === "session" && this.options.run.sessionId === undefined)) return false
    return needs.every((need) => grants.configured(need) || grants.isRememberable(need))
  }

  private newGrants(): RequestGrants {
    const { configured, place, run, storedGrant } = this.options
    return new RequestGrants(
      place.look(),
      configured,
      (need) => this.ofRun?.get(ruleKey(need)) ?? storedGrant(need, run.sessionId)
    )
  }
}

/** What is granted for one request. Each need is looked up once. */
class RequestGrants implements WorkspaceGrants {
  readonly look: RequestPaths
  private readonly rules: ReadonlyArray<GrantRule>
  private readonly memoryOf: (need: Need) => string | undefined

  constructor(
    look: RequestPaths,
    rules: ReadonlyArray<GrantRule>,
    memoryOf: (need: Need) => string | undefined
  ) {
    this.look = look
    this.rules = rules
    this.memoryOf = memoryOf
  }

  readonly isRememberable = once((need) => isRememberable(need, this.look))

  readonly configured = once((need) => {
    const bare = this.bare(need)
    return [need, ...(bare === undefined ? [] : [bare])].some((one) =>
      this.rules.some((rule) => covers(rule, one, this.look))
    )
  })

  readonly remembered = (need: Need): string | undefined => {
    if (!this.isRememberable(need)) return undefined
    const bare = this.bare(need)
    return this.memoryOf(need) ?? (bare === undefined ? undefined : this.memoryOf(bare))
  }

  /** The need of a granted command without the files that the configuration allows it to write. */
  private bare(need: Need): Need | undefined {
    if (need.action !== "shell" || need.writes === undefined) return undefined
    const isWritable = (file: string) => this.rules.some((rule) => coversFile(rule, file))
    return need.writes.every(({ file }) => isWritable(file)) ? withoutWrites(need) : undefined
  }
}

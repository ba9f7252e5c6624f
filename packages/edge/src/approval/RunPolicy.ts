/**
 * The policy of one run: what is asked is read, judged, and remembered where a person says so.
 *
 * Built once per run by `Grants.forRun`. Synchronous. What is remembered for the run dies with it; what lasts longer is given back as
 * rows, for the transaction that resolves the approval.
 */
import type { ApprovalRequest, DecisionScope } from "@corral/domain/approval/Approval"
import type { Grant, GrantRule } from "@corral/domain/approval/Grant"
import type { ApprovalId, GrantId, SessionId } from "@corral/domain/identity/Ids"
import type { Run } from "@corral/domain/run/Run"
import type { ApprovalAnswer } from "@corral/domain/run/RuntimeAdapter"
import { mint } from "@corral/service/Identifiers"
import type { Write } from "../store/Store.ts"
import { covers, coversFile, ruleKey, withoutWrites } from "./GrantRules.ts"
import { isRememberable, type Need, needsOf } from "./Needs.ts"
import { editAnswer } from "./OrdinaryFiles.ts"
import type { RequestPaths, WorkspacePaths } from "./PathTarget.ts"
import { judge, type Granted, type PolicyVerdict } from "./Policy.ts"
import { assessed } from "./Risk.ts"
import { segmentsOf } from "./ShellCommand.ts"
import { shownSegments } from "./ShownSegments.ts"

/** A request as it is judged, as it is stored and shown, and what a grant would have to cover. */
export interface Assessed {
  readonly request: ApprovalRequest
  /** Without secrets. */
  readonly shown: ApprovalRequest
  readonly needs: ReadonlyArray<Need> | undefined
  /** Calls of the file system that it took. */
  readonly lookups: number
}

export interface RunPolicyOptions {
  readonly run: Pick<Run, "workspace" | "agentId" | "sessionId" | "mode">
  readonly place: WorkspacePaths
  /** Rules of the Edge's configuration for this workspace. */
  readonly configured: ReadonlyArray<GrantRule>
  /** The grant that is kept now and covers exactly that: one for always, or one for that session. */
  readonly kept: (rule: GrantRule, sessionId: SessionId | undefined) => GrantId | undefined
  readonly put: (grant: Grant) => Write
}

/** Who decided what, when. */
export interface GrantDecision {
  readonly approvalId: ApprovalId
  readonly by: string
  /** Unix milliseconds. */
  readonly nowMs: number
}

const order: ReadonlyArray<DecisionScope> = ["once", "run", "session", "always"]

/** What one request is judged by. */
interface Judging extends Granted {
  readonly look: RequestPaths
  readonly isRememberable: (need: Need) => boolean
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
  /** How the last request was judged: it is judged on by the same look at the workspace. */
  private last: { readonly assessed: Assessed; readonly judging: Judging } | undefined
  /** Rules by their text, with the approval in which each was allowed. */
  private readonly ofRun = new Map<string, ApprovalId>()

  constructor(options: RunPolicyOptions) {
    this.options = options
  }

  /**
   * Reads a request: every part of its command line, its class and risk, and what may be remembered of it. `redacted` is the request
   * without secrets: the segments that are shown are read from its command, since a part of a secret is not recognized as one.
   */
  assess(request: ApprovalRequest, redacted: ApprovalRequest = request): Assessed {
    const judging = this.judging()
    const { look } = judging
    const segments = request.command === undefined ? [] : segmentsOf(request.command)
    const guessed = assessed(request, segments, look)
    // What the runtime offers for once alone, it asks for each time.
    const repeats = request.scopes.some((scope) => scope !== "once")
    const wanted = repeats ? needsOf({ ...request, ...guessed }, segments, look) : undefined
    const offered = request.scopes.filter(
      (scope) => scope === "once" || this.remembers(scope, wanted, judging)
    )
    // Where too much was to be looked up, the rest is not known.
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
    this.last = { assessed: result, judging }
    return result
  }

  judge(assessed: Assessed): PolicyVerdict {
    const { needs, request } = assessed
    const judging = this.last?.assessed === assessed ? this.last.judging : this.judging()
    this.last = undefined
    const isOrdinary = (file: string) => editAnswer(judging.look.targetOf(file)).answer === "allow"
    return judge(this.options.run.mode, request, needs, judging, isOrdinary)
  }

  /** The answer with the widest scope that is offered, up to the one that was said. An edited action is another one: it is allowed once. */
  narrowed({ request: { scopes } }: Assessed, answer: ApprovalAnswer): ApprovalAnswer {
    const most =
      answer.decision === "allow" && answer.updatedInput === undefined ? order.indexOf(answer.scope) : 0
    const scope = order.slice(0, most + 1).findLast((one) => one === "once" || scopes.includes(one)) ?? "once"
    return { ...answer, scope }
  }

  /** Remembers what a narrowed answer allows; the rows of what outlives the run. */
  remember({ needs = [] }: Assessed, answer: ApprovalAnswer, decided: GrantDecision): ReadonlyArray<Write> {
    const { decision, scope } = answer
    if (decision !== "allow" || scope === "once") return []
    const { configured } = this.judging()
    const missing = needs.filter((need) => !configured(need))
    if (scope === "run") {
      for (const need of missing) this.ofRun.set(ruleKey(need), decided.approvalId)
      return []
    }
    // What is kept for the session alone is not kept for always.
    const sessionId = scope === "session" ? this.options.run.sessionId : undefined
    const unkept = missing.filter((need) => this.options.kept(need, sessionId) === undefined)
    return unkept.map((rule) => this.grant(rule, scope, decided))
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
    { configured, isRememberable }: Judging
  ): boolean {
    if (needs === undefined || (scope === "session" && this.options.run.sessionId === undefined)) return false
    return needs.every((need) => configured(need) || isRememberable(need))
  }

  private judging(): Judging {
    const look = this.options.place.look()
    const rememberable = once((need) => isRememberable(need, look))
    return {
      look,
      isRememberable: rememberable,
      configured: once((need) => this.#isConfigured(need, look)),
      remembered: (need) => (rememberable(need) ? this.#remembered(need) : undefined)
    }
  }

  #isConfigured(need: Need, look: RequestPaths): boolean {
    const bare = this.#bare(need)
    return [need, ...(bare === undefined ? [] : [bare])].some((one) =>
      this.options.configured.some((rule) => covers(rule, one, look))
    )
  }

  #remembered(need: Need): string | undefined {
    const bare = this.#bare(need)
    return this.#memoryOf(need) ?? (bare === undefined ? undefined : this.#memoryOf(bare))
  }

  #memoryOf(need: Need): string | undefined {
    return this.ofRun.get(ruleKey(need)) ?? this.options.kept(need, this.options.run.sessionId)
  }

  /** A command whose words are granted may write where the configuration says so: the need without those files. */
  #bare(need: Need): Need | undefined {
    if (need.action !== "shell" || need.writes === undefined) return undefined
    const { configured } = this.options
    const isWritable = (file: string) => configured.some((rule) => coversFile(rule, file))
    return need.writes.every(({ file }) => isWritable(file)) ? withoutWrites(need) : undefined
  }
}

/**
 * Candidates of a group, as a Hub and an Edge report them: their runs, their change sets, and what a page does with them.
 *
 * Does as a Hub: continues one and closes the others, compares what is undecided. *Does not:* run anything.
 */
import type { ChangedFile, ChangeSet } from "@corral/domain/edge-api/ChangeSet"
import { compareFiles } from "@corral/domain/hub-api/TaskGroups"
import type { RunId, TaskId } from "@corral/domain/identity/Ids"
import type { CheckResult } from "@corral/domain/run/Check"
import type { Usage } from "@corral/domain/run/Run"
import { ScriptedChanges, type ScriptedFile } from "./ScriptedChanges.ts"

export interface ScriptedCandidate {
  readonly label: string
  readonly agentId: string
  readonly model?: string
  /** Of its run. `waiting`: its task has no run yet. */
  readonly state: "completed" | "failed" | "running" | "waiting"
  readonly answer?: string
  readonly files?: ReadonlyArray<ScriptedFile>
  readonly checks?: ReadonlyArray<CheckResult>
  readonly usage?: Usage
  readonly durationMs?: number
}

interface Place {
  readonly id: (prefix: string, nth: number) => string
  readonly at: (seq?: number) => string
  readonly session: string
  readonly user: string
  readonly placement: object
}

type Answer = readonly [status: number, body: unknown]

export class ScriptedGroup {
  readonly prompt: string
  readonly sets: ReadonlyArray<ScriptedChanges>
  private readonly candidates: ReadonlyArray<ScriptedCandidate>
  private readonly place: Place
  private continued: number | undefined

  constructor(prompt: string, candidates: ReadonlyArray<ScriptedCandidate>, place: Place) {
    this.prompt = prompt
    this.candidates = candidates
    this.place = place
    this.sets = candidates.map(({ files = [] }) => new ScriptedChanges(files))
  }

  get id(): string {
    return this.place.id("tgr", 1)
  }

  private runId(at: number): RunId {
    return this.place.id("run", 500 + at) as RunId
  }

  private agent(at: number): string {
    return this.place.id("agi", 500 + at)
  }

  private taskId(at: number): TaskId {
    return this.place.id("tsk", 500 + at) as TaskId
  }

  /** Change set and facts of a run of the group. */
  changesOf(runId: string) {
    const at = this.candidates.findIndex((_, nth) => this.runId(nth) === runId)
    const changes = this.sets[at]
    const { session: sessionId, user } = this.place
    return changes === undefined ? undefined : { changes, facts: { runId, sessionId, user } }
  }

  private setOf(at: number): ChangeSet | undefined {
    const found = this.changesOf(this.runId(at))
    const candidate = this.candidates[at]
    if (found === undefined || candidate === undefined || candidate.files === undefined) return undefined
    const set = found.changes.setOf(found.facts) as ChangeSet
    const { agentId, checks = [] } = candidate
    const results = { runId: this.runId(at), version: "set 1", results: checks, endedAt: this.place.at(90) }
    return {
      ...set,
      agentId,
      isolation: "overlay",
      groupId: this.id,
      ...(checks.length === 0 ? {} : { checks: results })
    } as ChangeSet
  }

  get openSets(): ReadonlyArray<unknown> {
    return this.candidates.flatMap((_, at) => {
      const set = this.setOf(at)
      return set?.state === "open" ? [{ ...set, ...this.place.placement }] : []
    })
  }

  private run(at: number): { readonly id: string } | undefined {
    const candidate = this.candidates[at]
    if (candidate === undefined || candidate.state === "waiting") return undefined
    const { agentId, answer, model, state } = candidate
    const set = this.setOf(at)
    const ended = state !== "running"
    const run = {
      ...this.place.placement,
      id: this.runId(at),
      state,
      agentId,
      mode: "auto_edit",
      sessionId: this.place.session,
      groupId: this.id,
      isolation: "overlay",
      ...(model === undefined ? {} : { model }),
      input: { text: this.prompt },
      timeoutMs: 1_800_000,
      lastSeq: 0,
      pendingApprovals: [],
      createdAt: this.place.at(1),
      updatedAt: this.place.at(60),
      ...(ended ? { endedAt: this.place.at(60 + at) } : {}),
      ...(answer === undefined ? {} : { resultText: answer }),
      ...(state === "failed"
        ? { error: { code: "run_timeout", message: "The run exceeded its time limit.", retryable: true } }
        : {}),
      ...(set === undefined
        ? {}
        : { changes: { id: set.id, runId: this.runId(at), state: set.state, fileCount: set.fileCount } })
    }
    return run
  }

  get runs(): ReadonlyArray<{ readonly id: string }> {
    return this.candidates.flatMap((_, at) => this.run(at) ?? [])
  }

  get agents(): ReadonlyArray<unknown> {
    return this.candidates.map(({ agentId, label, model }, at) => ({
      ...this.place.placement,
      id: this.agent(at),
      sessionId: this.place.session,
      label,
      agentId,
      mode: "auto_edit",
      isolation: "overlay",
      ...(model === undefined ? {} : { model }),
      groupId: this.id,
      ...(this.isClosed(at) ? { closedAt: this.place.at(100) } : {}),
      addedBy: this.place.user,
      addedAt: this.place.at()
    }))
  }

  get defaultAgent(): string | undefined {
    return this.continued === undefined ? undefined : this.agent(this.continued)
  }

  private isClosed(at: number): boolean {
    return this.continued !== undefined && this.continued !== at
  }

  /** Newest first. */
  get messages(): ReadonlyArray<unknown> {
    const author = { kind: "user", userId: this.place.user }
    const common = {
      sessionId: this.place.session,
      groupId: this.id,
      version: 10,
      createdAt: this.place.at(1)
    }
    const prompts = this.candidates.map(({ state }, at) => ({
      ...common,
      id: this.place.id("msg", 500 + at),
      author,
      text: this.prompt,
      to: this.agent(at),
      delivery: state === "waiting" ? { state: "pending" } : { state: "delivered", runId: this.runId(at) }
    }))
    const answers = this.candidates.flatMap(({ answer, state }, at) =>
      state === "completed"
        ? [
            {
              id: this.place.id("msg", 600 + at),
              sessionId: this.place.session,
              author: { kind: "agent", agentInstanceId: this.agent(at) },
              text: answer ?? "Done.",
              runId: this.runId(at),
              outcome: state,
              version: 20,
              createdAt: this.place.at(60 + at)
            }
          ]
        : []
    )
    return [...answers, ...prompts.toReversed()]
  }

  get resource(): unknown {
    const { placement, session, user } = this.place
    return {
      ...placement,
      id: this.id,
      sessionId: session,
      isolation: "overlay",
      input: { text: this.prompt },
      candidates: this.candidates.map(({ durationMs = 0, label, state, usage, ...candidate }, at) => {
        const set = this.setOf(at)
        const run = this.run(at)
        return {
          task: {
            ...placement,
            id: this.taskId(at),
            sessionId: session,
            groupId: this.id,
            state: state === "waiting" ? "queued" : state === "running" ? "running" : state,
            agentId: candidate.agentId,
            mode: "auto_edit",
            ...(candidate.model === undefined ? {} : { model: candidate.model }),
            input: { text: this.prompt },
            onOffline: "fail",
            createdBy: user,
            createdAt: this.place.at(1),
            updatedAt: this.place.at(60)
          },
          agentInstanceId: this.agent(at),
          label,
          ...(run === undefined ? {} : { run }),
          runs: run === undefined ? 0 : 1,
          ...(usage === undefined ? {} : { usage }),
          durationMs,
          ...(set === undefined ? {} : { changes: set }),
          ...(this.isClosed(at) ? { closed: true } : {})
        }
      }),
      ...(this.continued === undefined
        ? {}
        : {
            continuedTaskId: this.taskId(this.continued),
            continuedBy: user,
            continuedAt: this.place.at(100),
            removeAt: new Date(Date.now() + 7 * 86_400_000).toISOString()
          }),
      createdBy: user,
      createdAt: this.place.at(1)
    }
  }

  get comparison(): unknown {
    const found = this.candidates.map((_, at) => {
      const set = this.setOf(at)
      const read = this.changesOf(this.runId(at))
      const files =
        read === undefined || set === undefined
          ? []
          : (
              read.changes.read("/changes", new URLSearchParams(), read.facts)[1] as {
                items: ReadonlyArray<ChangedFile>
              }
            ).items
      return { taskId: this.taskId(at), runId: this.runId(at), version: set?.version, files }
    })
    const compared = found.filter(({ files }) => files.length > 0)
    return {
      groupId: this.id,
      candidates: found.map(({ files, runId, taskId, version }) =>
        files.length === 0 ? { taskId, state: "none" } : { taskId, state: "compared", runId, version }
      ),
      files: compareFiles(compared)
    }
  }

  /** Answer to a command. `kind` is the last part of its path. */
  command(kind: string, body: unknown): Answer {
    if (kind === "continue") {
      const { taskId } = body as { readonly taskId: string }
      const at = this.candidates.findIndex((_, nth) => this.taskId(nth) === taskId)
      this.continued = at
    }
    return [200, { group: this.resource, refused: [] }]
  }
}

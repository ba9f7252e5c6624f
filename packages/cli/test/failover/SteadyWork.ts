/**
 * Requests of people while their database fails: they create tasks, send messages and decide approvals, one of each after the other, and repeat each request with its key until it
 * is answered. Counts what was acknowledged, and finds afterwards whether each exists and was executed once.
 */
import { assert } from "@effect/vitest"
import type { Task } from "@corral/domain/task/Task"
import type { Answer } from "@corral/testing/http/Contract"
import type { Joined } from "@corral/testing/stack/Joined"
import { until } from "@corral/testing/time/Until"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { setTimeout as pause } from "node:timers/promises"

interface Identified {
  readonly id: string
}

interface ApprovalItem extends Identified {
  readonly state: string
}

interface Page<Item> {
  readonly items: ReadonlyArray<Item>
}

/** Longer than any failover: a request that is never answered fails the test. */
const ANSWER_WITHIN_MS = 120_000
const PACE_MS = 200
/** The turns of an agent come one after another: some of them wait at the end. */
const TURNS_WITHIN_MS = 300_000
/** Approvals that the run requests at most. */
const APPROVALS = 5_000

/** Answers that say: repeat the request. */
const isTransient = ({ status }: Answer): boolean => status >= 500 || status === 409 || status === 429

export class SteadyWork {
  readonly tasks: Array<string> = []
  readonly messages: Array<string> = []
  readonly decided = new Set<string>()
  /** Requests that were repeated. */
  repeated = 0
  readonly #joined: Joined
  #sessionId = ""
  #runId = ""
  #isOver = false
  #loops: Promise<unknown> = Promise.resolve()

  constructor(joined: Joined) {
    this.#joined = joined
  }

  async start(): Promise<void> {
    const joined = this.#joined
    const agent = { targetId: joined.deviceId, workspace: "ws", agentId: "scripted", mode: "full_access" }
    const session = await joined.owner.ask<Identified>("POST", "/client/sessions", {
      body: { projectId: joined.projectId, title: "Work" }
    })
    this.#sessionId = session.body.id
    const added = await joined.owner.ask("POST", `/client/sessions/${this.#sessionId}/agents`, {
      body: agent
    })
    assert.strictEqual(added.status, 201, added.text)
    const { runId } = await joined.task({ text: `${"/ask\n".repeat(APPROVALS)}/say over`, mode: "ask" })
    this.#runId = runId
    this.#loops = Promise.all([
      this.#repeat((at) => this.#createTask(at)),
      this.#repeat((at) => this.#sendMessage(at)),
      this.#repeat(() => this.#decide())
    ])
    // `stop` reports the failure.
    this.#loops.catch(() => undefined)
  }

  async stop(): Promise<void> {
    this.#isOver = true
    await this.#loops
  }

  /** Each acknowledged task ended once, each message is in the session and was executed once, each decision is in the log once. */
  async check(): Promise<void> {
    await this.#checkTasks()
    await this.#checkMessages()
    await this.#checkDecisions()
  }

  async #repeat(act: (at: number) => Promise<void>): Promise<void> {
    for (let at = 0; !this.#isOver; at++) {
      await act(at)
      await pause(PACE_MS)
    }
  }

  /** Repeats the request with the same key until it is answered. */
  #answered<Body>(path: string, key: string, body: unknown): Promise<Body> {
    return until(
      async () => {
        const answer = await this.#joined.owner
          .ask<Body>("POST", path, { body, headers: { "idempotency-key": key } })
          .catch(asUnanswered)
        if (answer === undefined || isTransient(answer)) {
          this.repeated++
          return undefined
        }
        assert.isBelow(answer.status, 300, answer.text)
        return answer.body
      },
      `the answer of ${path}`,
      ANSWER_WITHIN_MS
    )
  }

  async #createTask(at: number): Promise<void> {
    const { id } = await this.#answered<Identified>("/web/agent-tasks", `task-${at}`, {
      projectId: this.#joined.projectId,
      targetId: this.#joined.deviceId,
      workspace: "ws",
      agentId: "scripted",
      mode: "full_access",
      onOffline: "queue",
      input: { text: `/shell echo ${at} >> tasks.txt\n/say done` }
    })
    this.tasks.push(id)
  }

  async #sendMessage(at: number): Promise<void> {
    const { id } = await this.#answered<Identified>(
      `/client/sessions/${this.#sessionId}/messages`,
      `message-${at}`,
      { text: `/shell echo ${at} >> messages.txt\n/say done`, onOffline: "queue" }
    )
    this.messages.push(id)
  }

  async #decide(): Promise<void> {
    const waiting = await until(
      async () => {
        const answer = await this.#joined.owner
          .ask<Page<ApprovalItem>>("GET", `/client/approvals?runId=${this.#runId}&state=pending&limit=1`)
          .catch(asUnanswered)
        return answer?.status === 200 ? answer.body.items[0] : undefined
      },
      "an approval",
      ANSWER_WITHIN_MS
    )
    await this.#answered(`/client/approvals/${waiting.id}/decide`, `decide-${waiting.id}`, {
      decision: "allow"
    })
    this.decided.add(waiting.id)
  }

  async #checkTasks(): Promise<void> {
    assert.strictEqual(new Set(this.tasks).size, this.tasks.length)
    for (const id of this.tasks) {
      const { state } = await this.#joined.taskWith(id, (task: Task) =>
        ["completed", "failed"].includes(task.state)
      )
      assert.strictEqual(state, "completed", id)
    }
    this.#assertOnce("tasks.txt", this.tasks.length)
  }

  async #checkMessages(): Promise<void> {
    await until(
      () => Promise.resolve(this.#lines("messages.txt").length >= this.messages.length ? true : undefined),
      "the messages' turns",
      TURNS_WITHIN_MS
    )
    this.#assertOnce("messages.txt", this.messages.length)
  }

  async #checkDecisions(): Promise<void> {
    for (const id of this.decided) {
      const { body } = await this.#joined.owner.ask<ApprovalItem>("GET", `/client/approvals/${id}`)
      assert.strictEqual(body.state, "approved")
    }
    const cancelled = await this.#joined.owner.ask("POST", `/client/runs/${this.#runId}/cancel`)
    assert.isBelow(cancelled.status, 300, cancelled.text)
    // The cancel ended the one that was open.
    const allowed = (await this.#joined.edge.client.log(this.#runId)).filter(
      ({ payload, type }) => type === "run.approval.resolved" && payload["decision"] === "allow"
    )
    assert.strictEqual(allowed.length, this.decided.size)
  }

  /** One line for each. */
  #assertOnce(file: string, count: number): void {
    assert.deepStrictEqual(
      this.#lines(file).toSorted((a, b) => a - b),
      Array.from({ length: count }, (_, at) => at)
    )
  }

  #lines(file: string): ReadonlyArray<number> {
    return readFileSync(join(this.#joined.edge.workspace, file), "utf8").trim().split("\n").map(Number)
  }
}

/** The connection failed, so the outcome of the request is unknown. A broken contract is not of this kind. */
const asUnanswered = (error: unknown): undefined => {
  if (error instanceof TypeError) return undefined
  throw error
}

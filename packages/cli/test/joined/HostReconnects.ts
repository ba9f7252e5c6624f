/**
 * Editors of the Agent Host Protocol at an Edge and at its Hub that follow one session, turn by turn, while their connections are cut at random and both
 * services are killed.
 *
 * At the end, each window is compared with the logs of the runs: each part of each turn once and in order.
 */
import { parseSession, sessionAddress } from "@corral/agent-host/protocol/Addresses"
import type { Message } from "@corral/domain/session/Message"
import type { RunId, SessionId } from "@corral/domain/identity/Ids"
import { isTerminal } from "@corral/domain/run/RunEnd"
import type { Run } from "@corral/domain/run/Run"
import { AgentHostClient } from "@corral/testing/editor/AgentHostClient"
import { AgentHostSession } from "@corral/testing/editor/AgentHostSession"
import type { Joined } from "@corral/testing/stack/Joined"
import { until } from "@corral/testing/time/Until"
import { assert } from "@effect/vitest"
import { type Chance, restartEdge, restartHub } from "./Chaos.ts"
import { type Continuation, CutEditor, type HostPlace } from "./CutEditor.ts"
import { textsOf } from "./FoldedChat.ts"

/** Environment of an Edge whose runs outlive it. */
export const lastingRuns = {
  CORRAL_EDGE_ORPHAN_MS: "120000",
  CORRAL_EDGE_REQUESTS_PER_SECOND: "1000000"
}

export interface ReconnectOptions {
  readonly reconnects: number
  /** Editors at each service. */
  readonly editors: number
  /** Number of reconnects after which a service is killed. */
  readonly restartAfter: number
}

/** What happened, for the report. */
export interface ReconnectCounts extends Readonly<Record<Continuation, number>> {
  readonly edgeKills: number
  readonly hubKills: number
  readonly turns: number
  readonly parts: number
}

/** Parts of a turn, and parts a second. */
const PARTS = 600
const RATE = 60
/** Each part begins with the time in nanoseconds at which it was sent. */
const PART = /\d{9,} x+/g
const SIZE = 32
const FOLDER = "/home/person/site"
const END_MS = 120_000

/** Without what JSON does not have. */
const asSent = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

const partsOf = (text: string): ReadonlyArray<string> => text.match(PART) ?? []

/** Calls a service that may be down. */
const eventually = <A>(call: () => Promise<A | undefined>, what: string): Promise<A> =>
  until(() => call().catch(() => undefined), what, END_MS)

export class HostReconnects {
  private readonly joined: Joined
  private readonly chance: Chance
  private readonly options: ReconnectOptions
  private readonly editors: Array<CutEditor> = []
  private readonly kills = { edge: 0, hub: 0 }
  private done = 0
  private sessionId: SessionId | undefined

  constructor(joined: Joined, chance: Chance, options: ReconnectOptions) {
    this.joined = joined
    this.chance = chance
    this.options = options
  }

  async run(): Promise<ReconnectCounts> {
    await this.beginSession()
    const { editors, reconnects } = this.options
    const resource = sessionAddress("scripted", this.session)
    for (let count = 0; count < editors; count++)
      for (const place of [this.edge, this.hub])
        this.editors.push(new CutEditor(place, resource, this.chance))
    await Promise.all(this.editors.map((editor) => editor.open()))
    const isOver = () => this.done >= reconnects
    const cutting = async (editor: CutEditor) => {
      while (!isOver()) {
        await editor.cut()
        this.done++
      }
    }
    await Promise.all([this.talk(isOver), this.kill(isOver), ...this.editors.map(cutting)])
    return this.check()
  }

  private get session(): SessionId {
    assert.isDefined(this.sessionId)
    return this.sessionId
  }

  private get edge(): HostPlace {
    const { edge } = this.joined
    return {
      address: () => `${edge.url}/ahp/ws?tkn=${edge.token}`,
      killed: () => this.kills.edge,
      headers: {}
    }
  }

  private get hub(): HostPlace {
    const { deviceId, hub, owner, projectId } = this.joined
    const query = new URLSearchParams({ projectId, targetId: deviceId, workspace: "ws", folder: FOLDER })
    return {
      address: () => `${hub.url}/client/ahp?${query.toString()}`,
      killed: () => this.kills.hub,
      headers: { authorization: `Bearer ${owner.token}` }
    }
  }

  /** An editor at the Hub begins the session with its first message. */
  private async beginSession(): Promise<void> {
    const { address, headers } = this.hub
    const client = await AgentHostClient.open(address(), { headers })
    const session = await AgentHostSession.create(client, "scripted", FOLDER)
    const turn = await session.prompt(this.script)
    await client.action(({ action }) => action.type === "chat/responsePart" && action["turnId"] === turn)
    client.drop()
    this.sessionId = parseSession(session.resource)?.id
  }

  private get script(): string {
    return `/stream ${PARTS} ${RATE} ${SIZE}`
  }

  /** Runs at the Edge, the first one first. */
  private async runs(): Promise<ReadonlyArray<Run>> {
    const { body } = await this.joined.edge.client.ask("GET", "/v1/runs?limit=200")
    return (Object(body).items as ReadonlyArray<Run>).toReversed()
  }

  /** Sends a message after each turn, until it is over, and waits for the end of the last turn. */
  private async talk(isOver: () => boolean): Promise<void> {
    for (let turn = 1; ; turn++) {
      await eventually(async () => {
        const runs = await this.runs()
        return (runs.length >= turn && runs.every(({ state }) => isTerminal(state))) || undefined
      }, `the end of turn ${turn}`)
      if (isOver()) return
      const key = `turn-${turn}-${crypto.randomUUID()}`
      await eventually(async () => {
        const sent = await this.joined.owner.ask<Message>(
          "POST",
          `/client/sessions/${this.session}/messages`,
          {
            headers: { "idempotency-key": key },
            body: { text: this.script, onOffline: "queue" }
          }
        )
        return sent.status === 201 || undefined
      }, "a message that is accepted")
    }
  }

  private async kill(isOver: () => boolean): Promise<void> {
    const { restartAfter } = this.options
    for (let count = 1; !isOver(); count++) {
      await until(
        async () => isOver() || this.done >= count * restartAfter || undefined,
        "reconnects before a service is killed",
        END_MS
      )
      if (isOver()) return
      if (count % 2 === 0) {
        this.kills.hub++
        await restartHub(this.joined, this.chance.below(300))
      } else {
        this.kills.edge++
        await restartEdge(this.joined)
      }
    }
  }

  private async check(): Promise<ReconnectCounts> {
    const runs = await this.runs()
    const logs = await Promise.all(runs.map(({ id }) => this.partsOfLog(id)))
    for (const [at, { id, state }] of runs.entries())
      if (state === "completed") assert.lengthOf(new Set(logs[at]), PARTS, `${id} has each part once`)
    for (const place of [this.edge, this.hub]) {
      const fresh = new CutEditor(place, sessionAddress("scripted", this.session), this.chance)
      await fresh.open()
      this.editors.push(fresh)
    }
    for (const editor of this.editors) await this.checkEditor(editor, logs)
    this.checkEqual()
    for (const editor of this.editors) editor.close()
    const sum = (how: Continuation) => this.editors.reduce((all, { counts }) => all + counts[how], 0)
    return {
      replay: sum("replay"),
      snapshot: sum("snapshot"),
      begin: sum("begin"),
      edgeKills: this.kills.edge,
      hubKills: this.kills.hub,
      turns: runs.length,
      parts: logs.flat().length
    }
  }

  /** Parts of a run in the Edge's log. The Hub's has the same events. */
  private async partsOfLog(id: RunId): Promise<ReadonlyArray<string>> {
    const events = await this.joined.edge.client.log(id)
    await this.joined.runWith(id, ({ lastSeq }) => lastSeq === events.at(-1)?.seq)
    const text = events
      .map(({ payload, type }) => (type === "run.message.delta" ? payload["text"] : ""))
      .join("")
    const parts = partsOf(text)
    assert.lengthOf(new Set(parts), parts.length)
    return parts
  }

  /** Waits until the window shows the end of the last turn, and compares all of them with the logs. */
  private async checkEditor(editor: CutEditor, logs: ReadonlyArray<ReadonlyArray<string>>): Promise<void> {
    await until(
      async () => {
        const { state } = editor.chat
        const last = textsOf(state).at(-1) ?? ""
        return (state.activeTurn === undefined && last.includes(logs.at(-1)?.at(-1) ?? "")) || undefined
      },
      "the end of the last turn in a window",
      END_MS
    )
    const { state } = editor.chat
    const shown = textsOf(state).map(partsOf)
    if (state.turnsNextCursor === undefined) assert.lengthOf(shown, logs.length)
    assert.deepStrictEqual(shown, logs.slice(-shown.length))
  }

  /** Windows of one service show the same turns, whichever way each has come there. */
  private checkEqual(): void {
    for (const at of [0, 1]) {
      const [first, ...others] = this.editors.filter((_, index) => index % 2 === at)
      assert.isDefined(first)
      const { turns } = first.chat.state
      for (const { chat } of others) {
        const count = Math.min(turns.length, chat.state.turns.length)
        assert.deepStrictEqual(asSent(chat.state.turns.slice(-count)), asSent(turns.slice(-count)))
      }
    }
  }
}

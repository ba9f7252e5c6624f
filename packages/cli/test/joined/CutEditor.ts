/**
 * Editor of the Agent Host Protocol that loses its connection again and again, and continues from any position that it has seen, while its host may be
 * another process by then.
 *
 * Guarantees: an answer other than a replay or a snapshot is accepted only from another process of the host. Nothing comes before the answer.
 */
import {
  AgentHostClient,
  type HostSnapshot,
  type ReceivedAction,
  ROOT
} from "@corral/testing/editor/AgentHostClient"
import { until } from "@corral/testing/time/Until"
import { assert } from "@effect/vitest"
import type { Chance } from "./Chaos.ts"
import { FoldedChat } from "./FoldedChat.ts"

/** Where an editor connects. */
export interface HostPlace {
  /** Changes with the process. */
  readonly address: () => string
  /** Number of processes that have been killed. */
  readonly killed: () => number
  readonly headers: Readonly<Record<string, string>>
}

/** How an editor continued. `begin`: with a new client, because the host is another process. */
export type Continuation = "replay" | "snapshot" | "begin"

/** A cut comes after fewer actions than this. */
const MOST_ACTIONS = 12
/** Half of the positions are among that number of the last ones. */
const RECENT = 40
const HOST_MS = 60_000

interface ReplayAnswer {
  readonly type: string
  readonly actions?: ReadonlyArray<ReceivedAction>
  readonly missing?: ReadonlyArray<string>
  readonly snapshots?: ReadonlyArray<HostSnapshot>
}

/** A client and its chat. */
interface Window {
  readonly client: AgentHostClient
  readonly chat: FoldedChat
  /** Number of processes that had been killed when the client began. */
  readonly killed: number
  /** Number of the client's actions that are folded. */
  folded: number
}

export class CutEditor {
  readonly counts: Record<Continuation, number> = { replay: 0, snapshot: 0, begin: 0 }
  private readonly place: HostPlace
  private readonly resource: string
  private readonly chance: Chance
  private readonly clientId = crypto.randomUUID()
  private window: Window | undefined
  private connection: AgentHostClient | undefined
  /** Whether the host has begun the client, as far as the editor can tell. */
  private hasBegun = false

  constructor(place: HostPlace, resource: string, chance: Chance) {
    this.place = place
    this.resource = resource
    this.chance = chance
  }

  /** Connects, and waits until the host has the session. */
  async open(): Promise<void> {
    await until(() => this.attempt(() => this.begin()), "the session", HOST_MS)
  }

  /** What the window shows now. */
  get chat(): FoldedChat {
    const window = this.current
    const { actions } = window.client
    for (; window.folded < actions.length; window.folded++) {
      const action = actions[window.folded]
      if (action !== undefined) window.chat.apply(action)
    }
    return window.chat
  }

  /** Loses the connection after some actions, forgets some of what it has seen, and continues. */
  async cut(): Promise<void> {
    const { client } = this.current
    const wanted = client.actions.length + this.chance.below(MOST_ACTIONS)
    const arrival = client.action(() => client.actions.length >= wanted, "more actions")
    await Promise.race([arrival, client.closed]).catch(() => undefined)
    const { chat } = this
    client.drop()
    const { seen } = chat
    const among = this.chance.below(2) === 0 ? Math.min(RECENT, seen.length) : seen.length
    chat.rewind(seen.at(-1 - this.chance.below(among)) ?? chat.seq)
    const how = await until(() => this.attempt(() => this.resume(chat)), "the host", HOST_MS)
    this.counts[how]++
  }

  close(): void {
    this.window?.client.drop()
  }

  private get current(): Window {
    assert.isDefined(this.window)
    return this.window
  }

  /** `undefined`: the connection was lost, or there was none. */
  private async attempt<A>(call: () => Promise<A | undefined>): Promise<A | undefined> {
    try {
      return await call()
    } catch (cause) {
      if (this.connection?.isClosed === true) return undefined
      throw cause
    }
  }

  private async connect(): Promise<AgentHostClient | undefined> {
    const { headers } = this.place
    const { clientId } = this
    const answer = await AgentHostClient.connect(this.place.address(), { clientId, headers }).catch(
      () => undefined
    )
    if (!(answer instanceof AgentHostClient)) return undefined
    this.connection = answer
    return answer
  }

  private async resume(chat: FoldedChat): Promise<Continuation | undefined> {
    if (!this.hasBegun) return (await this.begin()) && "begin"
    const client = await this.connect()
    if (client === undefined) return undefined
    const { killed } = this.current
    this.window = { client, chat, killed, folded: 0 }
    const params = {
      clientId: this.clientId,
      lastSeenServerSeq: chat.seq,
      subscriptions: [ROOT, this.resource, chat.address]
    }
    const answer = client.request("reconnect", params, ROOT)
    // Sometimes the answer is lost, too.
    if (this.chance.below(8) === 0) client.drop()
    const { error, result } = await answer
    if (error?.code === 0) return undefined
    assert.strictEqual(client.actionsBefore, 0, "nothing comes before the answer")
    if (error === undefined) return this.continueFrom(chat, result as unknown as ReplayAnswer) // as the protocol has it
    assert.isAbove(this.place.killed(), killed, `the process does not know its client: ${error.message}`)
    return (await this.begin(client)) && "begin"
  }

  private continueFrom(
    chat: FoldedChat,
    { actions = [], missing, snapshots, type }: ReplayAnswer
  ): Continuation {
    if (type === "replay") {
      assert.deepStrictEqual(missing, [])
      for (const action of actions) chat.apply(action)
      return "replay"
    }
    const snapshot = snapshots?.find(({ resource }) => resource === chat.address)
    assert.isDefined(snapshot, `a snapshot of the chat, not ${type}`)
    chat.replace(snapshot)
    return "snapshot"
  }

  private async begin(connected?: AgentHostClient): Promise<true | undefined> {
    this.hasBegun = false
    const killed = this.place.killed()
    const client = connected ?? (await this.connect())
    if (client === undefined) return undefined
    await client.initialize()
    const { state } = await client.snapshot(this.resource)
    const snapshot = await client.snapshot(String(state["defaultChat"]))
    const later = client.actions.findIndex(({ serverSeq }) => serverSeq > snapshot.fromSeq)
    const folded = later < 0 ? client.actions.length : later
    this.window = { client, chat: new FoldedChat(snapshot), killed, folded }
    this.hasBegun = true
    return true
  }
}

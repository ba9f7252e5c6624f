/**
 * 1,000 messages to an agent while Hub and Edge are killed at random moments, and messages are edited, withdrawn and sent again meanwhile. Each
 * message leaves a line in a file when it is acted on. `CORRAL_SEED` does the same again.
 */
import { assert, describe, it } from "@effect/vitest"
import type { Message } from "@corral/domain/session/Message"
import { makeSession } from "@corral/testing/hub/People"
import { type Joined, openJoined } from "@corral/testing/stack/Joined"
import { until } from "@corral/testing/time/Until"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { setTimeout as pause } from "node:timers/promises"
import { type Chance, chanceOf, restartEdge, restartHub } from "./Chaos.ts"

const MESSAGES = 1_000

/** Prompt that leaves its number in `done.txt` once it is acted on. */
const promptOf = (number: number, work: string): string =>
  `/shell echo ${number} >> done.txt\n${work}\n/say done ${number}`

class Talk {
  readonly joined: Joined
  readonly chance: Chance
  readonly path: string
  readonly sent = new Map<string, number>()
  readonly tally = { edited: 0, withdrawn: 0, retried: 0, refused: 0 }

  constructor(joined: Joined, chance: Chance, sessionId: string) {
    this.joined = joined
    this.chance = chance
    this.path = `/client/sessions/${sessionId}/messages`
  }

  /** The answer to a request, which is repeated while no Hub answers. */
  async ask<A>(method: "GET" | "PATCH" | "POST", path: string, body?: object, key?: string) {
    const headers = key === undefined ? {} : { "idempotency-key": key }
    return until(
      async () => {
        const answer = await this.joined.owner
          .ask<A>(method, path, { ...(body === undefined ? {} : { body }), headers })
          .catch(() => undefined)
        return answer === undefined || answer.status >= 500 ? undefined : answer
      },
      `an answer to ${method} ${path}`,
      60_000
    )
  }

  async send(number: number): Promise<void> {
    const work = `/sleep ${this.chance.below(40)}`
    const body = {
      text: promptOf(number, work),
      mode: "full_access",
      ...(this.chance.below(5) === 0 ? { when: "now" } : {})
    }
    const send = (name: string, delivery: object) =>
      this.ask<Message>("POST", this.path, { ...body, ...delivery }, `message ${number} ${name}`)
    // Some fail when the Edge is killed on their way, and some expire while they wait. Some of both arrive too late to be accepted.
    const tried =
      this.chance.below(3) === 0
        ? await send("fail", { onOffline: "fail" })
        : this.chance.below(4) === 0
          ? await send("expire", { onOffline: "queue", expiresAt: this.soon() })
          : undefined
    const answer = tried?.status === 201 ? tried : await send("queue", { onOffline: "queue" })
    assert.strictEqual(answer.status, 201, answer.text)
    this.sent.set(answer.body.id, number)
  }

  /** A time within the usual wait for a turn. */
  soon(): string {
    return new Date(Date.now() + 100 + this.chance.below(1_500)).toISOString()
  }

  async all(): Promise<ReadonlyArray<Message>> {
    const found: Array<Message> = []
    let cursor: string | null = null
    do {
      const query: string = `?limit=200${cursor === null ? "" : `&cursor=${encodeURIComponent(cursor)}`}`
      const { body }: { body: { items: ReadonlyArray<Message>; nextCursor: string | null } } = await this.ask(
        "GET",
        `${this.path}${query}`
      )
      found.push(...body.items)
      cursor = body.nextCursor
    } while (cursor !== null)
    return found.filter(({ author }) => author.kind === "user").toReversed()
  }

  /** Changes one of the latest messages. */
  async disturb(): Promise<void> {
    const { body } = await this.ask<{ items: ReadonlyArray<Message> }>("GET", `${this.path}?limit=50`)
    const changeable = body.items.filter(({ delivery }) =>
      ["pending", "failed"].includes(delivery?.state ?? "")
    )
    const message = changeable[this.chance.below(Math.max(1, changeable.length))]
    if (message === undefined) return
    const number = this.sent.get(message.id) ?? 0
    const one = `${this.path}/${message.id}`
    const [kind, answer] =
      message.delivery?.state === "failed"
        ? ([
            "retried",
            await this.ask("POST", `${one}/retry`, undefined, `retry ${message.id} ${message.version}`)
          ] as const)
        : this.chance.below(2) === 0
          ? (["withdrawn", await this.ask("POST", `${one}/withdraw`)] as const)
          : ([
              "edited",
              await this.ask("PATCH", one, {
                version: message.version,
                text: promptOf(number, "/say edited")
              })
            ] as const)
    assert.include([200, 409], answer.status, answer.text)
    this.tally[answer.status === 200 ? kind : "refused"]++
  }
}

describe("1,000 messages to an agent", { timeout: 1_800_000 }, () => {
  it("are delivered once each, or shown in their true state, while Hub and Edge are killed", async () => {
    const chance = chanceOf()
    const joined = await openJoined({ edge: { grants: ["full_access"] } })
    const { id } = await makeSession(joined.owner, { id: joined.projectId })
    const added = await joined.owner.ask("POST", `/client/sessions/${id}/agents`, {
      body: { agentId: "scripted", targetId: joined.deviceId, workspace: "ws", mode: "full_access" }
    })
    assert.strictEqual(added.status, 201, added.text)
    const talk = new Talk(joined, chance, id)
    const kills = { hub: 0, edge: 0 }
    const sending = new AbortController()
    const killing = (async () => {
      while (!sending.signal.aborted) {
        await pause(500 + chance.below(3_500))
        if (chance.below(2) === 0) {
          kills.hub++
          await restartHub(joined, chance.below(500))
        } else {
          kills.edge++
          await restartEdge(joined)
        }
      }
    })()
    const pendingBelow = (limit: number) =>
      until(
        async () => {
          const { body } = await talk.ask<{ items: ReadonlyArray<Message> }>("GET", `${talk.path}?limit=200`)
          const pending = body.items.filter(({ delivery }) => delivery?.state === "pending")
          return pending.length < limit ? true : undefined
        },
        `fewer than ${limit} pending messages`,
        300_000
      )
    for (let number = 0; number < MESSAGES; number++) {
      await talk.send(number)
      if (chance.below(6) === 0) await talk.disturb()
      if (number % 10 === 9) await pendingBelow(30)
    }
    sending.abort()
    await killing
    await pendingBelow(1)

    const messages = await talk.all()
    assert.strictEqual(messages.length, MESSAGES)
    const inState = (state: string) => messages.filter(({ delivery }) => delivery?.state === state)
    const count = (state: string) => inState(state).length
    const file = join(joined.edge.workspace, "done.txt")
    const lines = existsSync(file) ? readFileSync(file, "utf8").trim().split("\n").map(Number) : []
    process.stderr.write(
      `${kills.hub} kills of the Hub, ${kills.edge} of the Edge; ${JSON.stringify(talk.tally)}; ` +
        `${count("delivered")} delivered, ${count("withdrawn")} withdrawn, ${count("failed")} failed; ` +
        `${lines.length} acted on\n`
    )
    assert.deepStrictEqual(lines.toSorted(), [...new Set(lines)].toSorted(), "a message was acted on twice")
    const delivered = new Set(inState("delivered").map((message) => talk.sent.get(message.id)))
    assert.deepStrictEqual(
      lines.filter((number) => !delivered.has(number)),
      [],
      "a message was acted on that is not delivered"
    )
    assert.strictEqual(count("delivered") + count("withdrawn") + count("failed"), MESSAGES)
    // Of turns whose Edge was killed, the work may be lost: they are delivered, and answered by an error.
    assert.isAtLeast(lines.length, count("delivered") - 2 * kills.edge)
    assert.isAbove(talk.tally.edited, 10)
    assert.isAbove(talk.tally.withdrawn, 10)
    assert.isAbove(talk.tally.retried, 10)
    assert.isAbove(kills.hub, 10)
    assert.isAbove(kills.edge, 10)
  })
})

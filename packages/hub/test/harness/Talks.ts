/** Sessions with agents, and the messages in them. */
import { assert } from "@effect/vitest"
import type { AgentInstanceId, SessionId } from "@corral/domain/identity/Ids"
import type { AgentInstance } from "@corral/domain/run/AgentProfile"
import type { CreateMessage, Message } from "@corral/domain/session/Message"
import type { HubClient } from "@corral/testing/hub/HubClient"
import { makeSession } from "@corral/testing/hub/People"
import { until } from "@corral/testing/time/Until"
import type { World } from "../link/World.ts"

export class Talk {
  readonly client: HubClient
  readonly sessionId: SessionId
  readonly agentId: AgentInstanceId
  private readonly world: World

  private constructor(world: World, sessionId: SessionId, agentId: AgentInstanceId) {
    this.world = world
    this.client = world.client
    this.sessionId = sessionId
    this.agentId = agentId
  }

  /** A session of the world's user with one agent. */
  static async open(world: World, agent: object = {}): Promise<Talk> {
    const { id } = await makeSession(world.client, { id: world.projectId })
    return new Talk(world, id, (await addAgent(world, id, agent)).id)
  }

  addAgent(agent: object = {}): Promise<AgentInstance> {
    return addAgent(this.world, this.sessionId, agent)
  }

  trySend(text: string, more: Partial<CreateMessage> = {}, client = this.client, headers = {}) {
    const body = { text, onOffline: "queue", ...more }
    return client.ask<Message>("POST", `/client/sessions/${this.sessionId}/messages`, { body, headers })
  }

  async send(text: string, more: Partial<CreateMessage> = {}, client = this.client): Promise<Message> {
    const sent = await this.trySend(text, more, client)
    assert.strictEqual(sent.status, 201, sent.text)
    return sent.body
  }

  edit({ id, version }: Pick<Message, "id" | "version">, change: object, client = this.client) {
    const body = { version, ...change }
    return client.ask<Message>("PATCH", `/client/sessions/${this.sessionId}/messages/${id}`, { body })
  }

  withdraw({ id }: Pick<Message, "id">, client = this.client) {
    return client.ask<Message>("POST", `/client/sessions/${this.sessionId}/messages/${id}/withdraw`)
  }

  retry({ id }: Pick<Message, "id">, client = this.client) {
    return client.ask<Message>("POST", `/client/sessions/${this.sessionId}/messages/${id}/retry`)
  }

  /** Delivers the held messages of the agent. */
  proceed(client = this.client, agentId = this.agentId) {
    return client.ask<AgentInstance>("POST", `/client/sessions/${this.sessionId}/agents/${agentId}/continue`)
  }

  /** All messages, oldest first. */
  async messages(client = this.client): Promise<ReadonlyArray<Message>> {
    const { body } = await client.ask<{ readonly items: ReadonlyArray<Message> }>(
      "GET",
      `/client/sessions/${this.sessionId}/messages?limit=200`
    )
    return body.items.toReversed()
  }

  /** The message once it is as awaited. */
  messageWith(id: string, holds: (message: Message) => boolean, client = this.client): Promise<Message> {
    return until(
      async () => (await this.messages(client)).find((message) => message.id === id && holds(message)),
      `the message ${id} as awaited`,
      45_000
    )
  }

  inState({ id }: Pick<Message, "id">, state: string, client = this.client): Promise<Message> {
    return this.messageWith(id, ({ delivery }) => delivery?.state === state, client)
  }

  /** The answer of a run. */
  answer(runId: string, client = this.client): Promise<Message> {
    return until(
      async () =>
        (await this.messages(client)).find(
          (message) => message.runId === runId && message.author.kind === "agent"
        ),
      `the answer of ${runId}`,
      45_000
    )
  }
}

const addAgent = async ({ client, deviceId }: World, sessionId: SessionId, agent: object) => {
  const added = await client.ask<AgentInstance>("POST", `/client/sessions/${sessionId}/agents`, {
    body: { agentId: "scripted", targetId: deviceId, workspace: "demo", ...agent }
  })
  assert.strictEqual(added.status, 201, added.text)
  return added.body
}

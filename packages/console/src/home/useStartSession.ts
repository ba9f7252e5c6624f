/**
 * Mutation that starts a session with its first message: creates the session, adds the agent, sends the message, and opens the session.
 *
 * Guarantees: a retry after a failure continues with the session and the agent that exist.
 */
import { newIdempotencyKey } from "@corral/client/http/Transport"
import type { SetLimits } from "@corral/domain/run/LimitText"
import type { Isolation } from "@corral/domain/run/Run"
import { useMutation, useQueryClient } from "@tanstack/react-query"
import { useNavigate } from "@tanstack/react-router"
import { useState } from "react"
import { useCurrentUser } from "../api/CurrentUser.ts"
import { hubApi, messageLimit, useIdempotencyKey } from "../api/Hub.ts"
import type { CandidateChoice } from "../composer/CandidatesDialog.tsx"
import type { Draft } from "../composer/Draft.ts"
import { draftContent } from "../composer/SendMessage.tsx"
import type { StartChoice } from "../start/Offer.ts"
import { useMessages } from "../text/Language.tsx"
import { homeMessages } from "./messages.ts"

type KeyStorage = Pick<Storage, "getItem" | "removeItem" | "setItem">

/** Steps with several requests: the user has chosen something else before a retry. */
const MAX_KEYS = 20

const readKeys = (name: string, storage: KeyStorage): ReadonlyArray<readonly [string, string]> => {
  try {
    const stored: unknown = JSON.parse(storage.getItem(name) ?? "[]")
    return Array.isArray(stored)
      ? stored.filter(
          (pair) => Array.isArray(pair) && pair.length === 2 && pair.every((each) => typeof each === "string")
        )
      : []
  } catch {
    return []
  }
}

/**
 * Idempotency keys of the steps that start a session. They survive a reload, so a retry after a failure makes no second session.
 *
 * Guarantees: a step with the same request has the same key until the start has succeeded.
 */
export class StartKeys {
  private readonly name: string
  private readonly storage: KeyStorage
  private readonly keys: Map<string, string>

  constructor(userId: string, storage: KeyStorage = sessionStorage) {
    this.name = `corral.starting.${userId}`
    this.storage = storage
    this.keys = new Map(readKeys(this.name, storage))
  }

  /** Headers of one step. */
  headersOf(step: "agent" | "session", request: unknown): { readonly "idempotency-key": string } {
    const name = `${step} ${JSON.stringify(request)}`
    const key = this.keys.get(name) ?? newIdempotencyKey()
    this.keys.set(name, key)
    try {
      this.storage.setItem(this.name, JSON.stringify([...this.keys].slice(-MAX_KEYS)))
    } catch {
      // Without storage the keys last as long as the page.
    }
    return { "idempotency-key": key }
  }

  /** The next start makes another session. */
  clear(): void {
    this.keys.clear()
    this.storage.removeItem(this.name)
  }
}

export interface StartSettings {
  /** Where the agent writes, if a user chose it. Otherwise the workspace's own setting counts. */
  readonly isolation?: Isolation | undefined
  /** Limits of each turn of the agent. */
  readonly limits: SetLimits
  /** Several agents for the same task. Empty: the chosen one. */
  readonly candidates: ReadonlyArray<CandidateChoice>
}

/** Request of the second step, `undefined` while something is missing. */
const agentRequest = (
  { agent, mode, model, place }: StartChoice,
  { isolation, limits }: Omit<StartSettings, "candidates">
) =>
  place === undefined || agent === undefined || mode === undefined
    ? undefined
    : {
        agentId: agent.id,
        targetId: place.target.id,
        workspace: place.workspace.id,
        mode,
        ...(model === undefined ? {} : { model }),
        ...limits,
        // A worktree needs a repository, which the workspace chosen last may lack.
        ...(isolation === undefined || (isolation === "worktree" && place.workspace.offered?.git !== true)
          ? {}
          : { isolation })
      }

export const useStartSession = (draft: Draft, choice: StartChoice, settings: StartSettings) => {
  const messages = useMessages(homeMessages)
  const navigate = useNavigate()
  const client = useQueryClient()
  const { user } = useCurrentUser()
  const [keys] = useState(() => new StartKeys(user.id))
  const messageHeaders = useIdempotencyKey()
  return useMutation({
    mutationFn: async () => {
      const agentPayload = agentRequest(choice, settings)
      if (choice.project === undefined || agentPayload === undefined) throw new Error(messages.noProject)
      const { fileKeys, payload: content } = draftContent(draft)
      const sessionPayload = { projectId: choice.project.id }
      const session = await hubApi.sessions.create({
        headers: keys.headersOf("session", sessionPayload),
        payload: sessionPayload
      })
      const params = { id: session.id }
      const agent = await hubApi.sessions.addAgent({
        params,
        headers: keys.headersOf("agent", { ...params, ...agentPayload }),
        payload: agentPayload
      })
      const payload = {
        ...content,
        to: agent.id,
        ...(choice.place?.target.state === "online" ? {} : { onOffline: "queue" as const })
      }
      const headers = messageHeaders({ params, payload })
      await hubApi.sessions.addMessage({ params, headers, payload, ...messageLimit })
      keys.clear()
      choice.remember()
      draft.removeSent(content.text, fileKeys)
      return session.id
    },
    onSuccess: async (sessionId) => {
      void client.invalidateQueries({ queryKey: ["sessions"] })
      void client.invalidateQueries({ queryKey: ["runs"] })
      await navigate({ to: "/sessions/$sessionId", params: { sessionId } })
    }
  })
}

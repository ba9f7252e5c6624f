/**
 * Decisions about a change set: accept, reject and undo, one after the other.
 *
 * Guarantees: a part is marked while its decision is on the way, and disappears only when the Edge has decided. After a refusal, the newest
 * state is loaded, and the refusal says why. A request that had no answer is repeated with the same key.
 */
import { CorralError } from "@corral/client/http/CorralError"
import type {
  ChangeComment,
  ChangeDecision,
  ChangeSelection,
  ConflictSides,
  EditedHunk
} from "@corral/domain/edge-api/ChangeSet"
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import { useMutation, useQueryClient } from "@tanstack/react-query"
import { useRef, useState } from "react"
import { hubApi } from "../api/Hub.ts"
import { useIdempotencyKey } from "../api/Hub.ts"

/** Key of everything that is not apart. */
export const ALL = "all"

export interface Decision {
  /** The run whose set it is about. */
  readonly runId: HubRun["id"]
  readonly kind: "accept" | "reject"
  readonly parts: ChangeSelection
  /** Ids of the parts, or `ALL`: they are marked. */
  readonly keys: ReadonlyArray<string>
  readonly comment?: string | undefined
  /** Of a rejection. */
  readonly comments?: ReadonlyArray<ChangeComment> | undefined
  /** Of an acceptance: hunks as the person edited them. */
  readonly edits?: ReadonlyArray<EditedHunk> | undefined
  /** Runs after the decision. */
  readonly onDecided?: (() => void) | undefined
}

/** What the last decision led to. */
export type DecideOutcome =
  | { readonly kind: "decided"; readonly decision: ChangeDecision }
  | { readonly kind: "refused"; readonly error: Error; readonly decision: Decision }

/** Versions of the files in conflict, of a refusal. */
export const sidesOf = (error: Error | null | undefined): ReadonlyArray<ConflictSides> => {
  if (!(error instanceof CorralError) || error.code !== "merge_conflict") return []
  const { files } = error.details
  return Array.isArray(files) ? files : []
}

/** A key for each decision: the same for attempts without an answer. */
const useDecisionKey = () => {
  const keyOf = useIdempotencyKey()
  const nth = useRef(0)
  return {
    headersOf: (payload: object) => keyOf({ nth: nth.current, ...payload }),
    /** The next decision is another one, also about the same parts. */
    end: (error: Error | null) => {
      const hasAnswer = error === null || (error instanceof CorralError && error.code !== "unreachable")
      if (hasAnswer) nth.current++
    }
  }
}

export const useUndo = (runId: HubRun["id"]) => {
  const client = useQueryClient()
  const key = useDecisionKey()
  return useMutation({
    mutationFn: (payload: { readonly decisionId?: ChangeDecision["id"] }) =>
      hubApi.changeSets.undo({ params: { id: runId }, headers: key.headersOf(payload), payload }),
    onSettled: async (_, error) => {
      key.end(error)
      await Promise.all(
        ["change-set", "run-diff", "changeSets", "runs", "sessions"].map((group) =>
          client.invalidateQueries({ queryKey: [group] })
        )
      )
    }
  })
}

export type Deciding = ReturnType<typeof useDecide>

interface Options {
  readonly reload: () => Promise<unknown>
  /** Receives the ids of decided parts, once the newest state is loaded. */
  readonly forget: (ids: ReadonlySet<string>) => void
}

/** `scope`: decisions of one scope are sent one after the other, because each changes what the next one is about. */
export const useDecide = (scope: string, { forget, reload }: Options) => {
  const client = useQueryClient()
  const key = useDecisionKey()
  const [pending, setPending] = useState<ReadonlyMap<string, Decision["kind"]>>(new Map())
  const [outcome, setOutcome] = useState<DecideOutcome>()
  const mutation = useMutation({
    scope: { id: `changes ${scope}` },
    mutationFn: (decision: Decision) => {
      const { comment = "", comments = [], edits = [], kind, parts, runId } = decision
      const params = { id: runId }
      if (kind === "accept") {
        const payload = edits.length === 0 ? { parts } : { parts, edits }
        return hubApi.changeSets.accept({
          params,
          headers: key.headersOf({ kind, runId, ...payload }),
          payload
        })
      }
      const payload = {
        parts,
        ...(comment === "" ? {} : { comment }),
        ...(comments.length === 0 ? {} : { comments })
      }
      return hubApi.changeSets.reject({
        params,
        headers: key.headersOf({ kind, runId, ...payload }),
        payload
      })
    },
    onSuccess: ({ decision }, { onDecided }) => {
      setOutcome({ kind: "decided", decision })
      onDecided?.()
    },
    onError: (error, decision) => setOutcome({ kind: "refused", error, decision }),
    onSettled: async (_, error, { keys }) => {
      key.end(error)
      await reload()
      if (error === null) forget(new Set(keys))
      setPending((before) => new Map([...before].filter(([each]) => !keys.includes(each))))
      for (const group of ["changeSets", "runs", "sessions"])
        void client.invalidateQueries({
          queryKey: [group],
          predicate: ({ queryKey }) => queryKey[1] !== "head"
        })
    }
  })
  const send = (decision: Decision): void => {
    setOutcome(undefined)
    setPending(
      (before) => new Map([...before, ...decision.keys.map((each) => [each, decision.kind] as const)])
    )
    mutation.mutate(decision)
  }
  return {
    pending,
    outcome,
    send,
    isBusy: pending.size > 0,
    dismiss: () => setOutcome(undefined)
  }
}

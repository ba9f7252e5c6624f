/** Latest line and change counts of a run, from the end of the log that the Hub has. A run in progress is read again every few seconds. */
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import { queryOptions, useQuery } from "@tanstack/react-query"
import { hubApi } from "../api/Hub.ts"
import { isInProgress } from "../status/SessionStatus.ts"
import { useMessages } from "../text/Language.tsx"
import { threadMessages } from "../thread/messages.ts"
import { type RunTail, runTail } from "./runTail.ts"

const EVENTS = 60
const EVERY_MS = 4_000

const runTailQuery = ({ id, lastSeq, state }: HubRun) =>
  queryOptions({
    // Not of the group `runs`: each card would be read again with every change of any run.
    queryKey: ["runTail", id, state],
    queryFn: async ({ signal }): Promise<RunTail> => {
      const params = { id }
      const last = isInProgress(state) ? (await hubApi.runs.get({ params, signal })).lastSeq : lastSeq
      const query = { after: Math.max(0, last - EVENTS), limit: EVENTS }
      return runTail((await hubApi.runs.events({ params, query, signal })).items)
    },
    staleTime: isInProgress(state) ? EVERY_MS : Number.POSITIVE_INFINITY,
    refetchInterval: isInProgress(state) && state !== "queued" ? EVERY_MS : false
  })

const unknownTail: RunTail = { line: undefined, changes: undefined }

/** Latest line: the call in progress in words, else what the run said last. And the counts of its changes. */
export const useRunTail = (run: HubRun): Pick<RunTail, "line" | "changes"> => {
  const { verbs } = useMessages(threadMessages)
  const { changes, currentCall, line } = useQuery(runTailQuery(run)).data ?? unknownTail
  if (currentCall === undefined || !isInProgress(run.state)) return { changes, line }
  return { changes, line: `${verbs[currentCall.kind].doing} ${currentCall.target}`.trimStart() }
}

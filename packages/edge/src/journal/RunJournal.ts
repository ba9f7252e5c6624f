/**
 * Journal of one run that outlives its Edge: what the Edge told the adapter and when, and the state of the run that is not in its log.
 *
 * Guarantees: entries are rows of the transaction that stores the events of their batch. Together with the raw output, they are enough to bring
 * a new adapter into the state of the old one (`RunReplay`).
 *
 * Does not: outlive the run. Entries contain inputs of users as the runtime receives them, and are deleted with the last event.
 */
import type { Store, Write } from "../store/Store.ts"
import { parseStored } from "../store/StoreDamage.ts"
import type { ApprovalId, InputRequestId, RunId } from "@corral/domain/identity/Ids"
import type { RunState } from "@corral/domain/run/RunState"
import type { ApprovalAnswer, InputResponse } from "@corral/domain/run/RuntimeAdapter"

/** How far a run has come. Changed in place: it is on the path of every output. */
export class OutputPosition {
  /** Bytes of stdout that the adapter has received. */
  bytes = 0
  /** Outputs that the run has applied, counted after their redaction. */
  outputs = 0
}

/** A call of the adapter, whose result was written to stdin. */
export type JournalCall =
  | {
      readonly _tag: "Answer"
      readonly approvalId: ApprovalId
      readonly key: string
      readonly answer: ApprovalAnswer
    }
  /** Secret answers are sealed. */
  | {
      readonly _tag: "Respond"
      readonly inputId: InputRequestId
      readonly key: string
      readonly response: InputResponse
    }
  | { readonly _tag: "Input"; readonly text: string }
  | { readonly _tag: "Cancel" }

/** A call and the position of the run at that moment. */
export type JournaledCall = JournalCall & { readonly bytes: number; readonly outputs: number }

/** What requested an approval: the output with that number, under the runtime's key, or a connection to an address. */
export type JournaledRequest = { readonly _tag: "Request"; readonly approvalId: ApprovalId } & (
  | { readonly output: number; readonly key: string }
  | { readonly connection: string }
)

/** The runtime's key of a question. */
interface JournaledQuestion {
  readonly _tag: "Question"
  readonly inputId: InputRequestId
  readonly key: string
}

type JournalEntry = JournaledCall | JournaledRequest | JournaledQuestion

/** State of a run that its events do not show. */
interface UnloggedState extends Pick<
  RunState,
  "verdict" | "held" | "isTurnDue" | "rejection" | "cancelledBy" | "used"
> {
  /** Whether the Edge is ending the process. */
  readonly isStopping: boolean
  /** Whether the process ended after the run's outcome; `undefined` before its end. */
  readonly isOver?: boolean | undefined
  /** Outputs that this state includes. */
  readonly outputs: number
}

/** A stored journal. */
export interface StoredJournal {
  readonly calls: ReadonlyArray<JournaledCall>
  readonly requests: ReadonlyArray<JournaledRequest>
  readonly questions: ReadonlyArray<JournaledQuestion>
  readonly state: UnloggedState | undefined
  /** Number of the next entry. */
  readonly next: number
}

/** The state has the first place, and is replaced. */
const STATE = 0

export class RunJournal {
  readonly #runId: RunId
  readonly #position: OutputPosition
  #next: number
  #stored: Omit<UnloggedState, "outputs"> | undefined

  constructor(runId: RunId, position: OutputPosition, next = STATE + 1) {
    this.#runId = runId
    this.#position = position
    this.#next = next
  }

  /** Row of a call at this moment. */
  call(call: JournalCall): Write {
    const { bytes, outputs } = this.#position
    return this.#entry({ ...call, bytes, outputs })
  }

  /** Row of a request by the output that is being applied, or by a connection. */
  request(approvalId: ApprovalId, by: { readonly key: string } | { readonly connection: string }): Write {
    const { outputs: output } = this.#position
    const what = "key" in by ? { key: by.key, output } : { connection: by.connection }
    return this.#entry({ _tag: "Request", approvalId, ...what })
  }

  /** Row of a question by the output that is being applied. */
  question(inputId: InputRequestId, key: string): Write {
    return this.#entry({ _tag: "Question", inputId, key })
  }

  /** Row of the state that is not in the log; `undefined` if it is stored already. */
  state(
    { cancelledBy, held, isTurnDue, rejection, used, verdict }: RunState,
    isStopping: boolean,
    isOver: boolean | undefined
  ): Write | undefined {
    const last = this.#stored
    const isSame =
      last?.verdict === verdict &&
      last?.held === held &&
      last?.isTurnDue === isTurnDue &&
      last?.rejection === rejection &&
      last?.used === used &&
      last?.isOver === isOver &&
      (last?.isStopping ?? false) === isStopping
    if (isSame) return undefined
    this.#stored = { verdict, held, isTurnDue, rejection, cancelledBy, used, isStopping, isOver }
    const state: UnloggedState = { ...this.#stored, outputs: this.#position.outputs }
    return [put, this.#runId, STATE, JSON.stringify(state)]
  }

  #entry(entry: JournalEntry): Write {
    return [put, this.#runId, this.#next++, JSON.stringify(entry)]
  }
}

const put = "INSERT OR REPLACE INTO run_journal (run_id, ordinal, entry) VALUES (?, ?, ?)"

export const forgetJournal = (runId: RunId): Write => ["DELETE FROM run_journal WHERE run_id = ?", runId]

/** Number of outputs that the newest stored batch of a run includes. */
const storedOutputs = (store: Store["Service"], runId: RunId): number =>
  store.get<{ readonly outputs: number | null }>(
    "SELECT outputs FROM events WHERE run_id = ? ORDER BY last_seq DESC LIMIT 1",
    runId
  )?.outputs ?? 0

/** Outputs that the log and the journal of a run include. */
export const appliedOutputs = (
  store: Store["Service"],
  runId: RunId,
  { state }: Pick<StoredJournal, "state">
): number => Math.max(storedOutputs(store, runId), state?.outputs ?? 0)

export const readJournal = (store: Store["Service"], runId: RunId): StoredJournal => {
  const rows = store.all<{ readonly ordinal: number; readonly entry: string }>(
    "SELECT ordinal, entry FROM run_journal WHERE run_id = ? ORDER BY ordinal",
    runId
  )
  // This program wrote the rows.
  const entries = rows
    .filter(({ ordinal }) => ordinal !== STATE)
    .map(({ entry }) => parseStored<JournalEntry>(entry, "journal"))
  const state = rows.find(({ ordinal }) => ordinal === STATE)
  return {
    calls: entries.filter((entry) => entry._tag !== "Request" && entry._tag !== "Question"),
    requests: entries.filter((entry) => entry._tag === "Request"),
    questions: entries.filter((entry) => entry._tag === "Question"),
    state: state === undefined ? undefined : parseStored<UnloggedState>(state.entry, "journal"),
    next: (rows.at(-1)?.ordinal ?? STATE) + 1
  }
}

/**
 * Open questions of a live run, with the key pairs for their secret answers, and the two forms of an answer that arrives: open for the runtime,
 * sealed for the journal and the store.
 *
 * Guarantees: what is stored has secret answers in their sealed form, whichever form was sent. Only the runtime receives the open form. A sealed
 * answer that does not open, and a plain secret from a remote caller, are refused before the question is resolved.
 */
import { SchemaValidationFailed } from "@corral/domain/errors/Failures"
import type { InputRequestId } from "@corral/domain/identity/Ids"
import type {
  AnswerValue,
  InputAnswer,
  InputAnswers,
  Question,
  RequestedInput
} from "@corral/domain/input/InputRequest"
import { openValue, type SealingKeyPair, sealValue } from "@corral/domain/input/Seal"
import type { SealedValue } from "@corral/domain/input/SealedValue"
import type { InputResponse } from "@corral/domain/run/RuntimeAdapter"
import { Deferred, Effect } from "effect"
import { createECDH } from "node:crypto"
import { type PendingRequest, PendingRequests } from "../approval/PendingRequests.ts"

/** Bytes of a P-256 scalar. Node leaves out its leading zeros. */
const SCALAR_BYTES = 32

export const makeSealingKeys = (): SealingKeyPair => {
  const pair = createECDH("prime256v1")
  pair.generateKeys()
  const scalar = Buffer.concat([Buffer.alloc(SCALAR_BYTES), pair.getPrivateKey()]).subarray(-SCALAR_BYTES)
  return {
    publicKey: pair.getPublicKey().toString("base64url"),
    privateKey: scalar.toString("base64url")
  }
}

/** Ids of the secret questions. */
const secretQuestions = ({ questions = [] }: RequestedInput): ReadonlyArray<string> =>
  questions.flatMap(({ id, secret }) => (secret === true ? [id] : []))

export const hasSecrets = (request: RequestedInput): boolean => secretQuestions(request).length > 0

const isSealed = (value: unknown): value is SealedValue =>
  typeof value === "object" && value !== null && Object.hasOwn(value, "sealed")

const ownValue = <A>(record: Readonly<Record<string, A>>, name: string): A | undefined =>
  Object.hasOwn(record, name) ? record[name] : undefined

/** The answers as readers see them: without secrets. */
export const shownAnswers = (request: RequestedInput, answers: InputAnswers): Record<string, unknown> => {
  const secret = new Set(secretQuestions(request))
  return Object.fromEntries(
    Object.entries(answers).map(([id, value]) => [id, secret.has(id) || isSealed(value) ? {} : value])
  )
}

/** The text of an answer inside its seal: texts and option ids as they are, other values as JSON. */
const sealedText = (value: AnswerValue): string => (typeof value === "string" ? value : JSON.stringify(value))

/** The value of a sealed text. `AnswerCheck` says whether it fits the question. */
const valueOf = (kind: Question["kind"] | undefined, text: string): AnswerValue => {
  if (kind === "text" || kind === undefined || (kind === "choice" && !/^[[{]/.test(text))) return text
  try {
    return JSON.parse(text) as AnswerValue // any other value is refused by the check
  } catch {
    return text
  }
}

interface OpenedAnswers {
  readonly answers: InputAnswers
  /** Questions whose sealed answers do not open. */
  readonly unopened: ReadonlyArray<string>
}

/** The answers without seals. */
export const openedAnswers = async (
  sealing: SealingKeyPair | undefined,
  inputId: InputRequestId,
  { questions = [] }: RequestedInput,
  answers: InputAnswers
): Promise<OpenedAnswers> => {
  const unopened: Array<string> = []
  const opened: Record<string, AnswerValue> = { ...answers }
  for (const [id, value] of Object.entries(answers)) {
    if (!isSealed(value)) continue
    const text = sealing === undefined ? undefined : await openValue(sealing, inputId, value)
    if (text === undefined) unopened.push(id)
    else opened[id] = valueOf(questions.find((one) => one.id === id)?.kind, text)
  }
  return { answers: opened, unopened }
}

/** The answers in their stored form: secret texts that were sent in plain are sealed. */
const storedAnswers = async (
  sealing: SealingKeyPair | undefined,
  inputId: InputRequestId,
  request: RequestedInput,
  answers: InputAnswers
): Promise<InputAnswers> => {
  const stored: Record<string, AnswerValue> = { ...answers }
  for (const id of secretQuestions(request)) {
    const value = ownValue(answers, id)
    if (value === undefined || isSealed(value)) continue
    // A value that cannot be stored safely is not stored: the replay then has no answer to give.
    if (sealing === undefined) delete stored[id]
    else stored[id] = await sealValue(sealing.publicKey, inputId, sealedText(value))
  }
  return stored
}

/** Secret texts of opened answers, for the run's redaction. */
export const secretTexts = (request: RequestedInput, answers: InputAnswers): ReadonlyArray<string> =>
  secretQuestions(request).flatMap((id) => {
    const value = ownValue(answers, id)
    return value === undefined || isSealed(value) ? [] : [sealedText(value)]
  })

/** An answer without its secret parts, as an idempotency key is bound to it. */
export const withoutSecrets = <A extends object>(request: RequestedInput | undefined, answer: A): A =>
  request !== undefined && hasSecrets(request) && "answers" in answer
    ? { ...answer, answers: shownAnswers(request, answer.answers as InputAnswers) } // checked by the endpoint
    : answer

export interface OpenInput extends PendingRequest<InputRequestId, InputResponse> {
  readonly key: string
  /** Present if a question is secret. */
  readonly sealing: SealingKeyPair | undefined
}

/** Open questions of a live run: the runtime's key, and the key pair for secret answers. */
export class OpenInputs extends PendingRequests<InputRequestId, InputResponse, OpenInput> {
  add(request: Omit<OpenInput, "answer">): void {
    this.put({ ...request, answer: Deferred.makeUnsafe<InputResponse>() })
  }
}

export interface AnswerForms {
  /** Without seals. */
  readonly answer: InputAnswer
  /** Its answers with sealed secrets. */
  readonly stored: InputAnswers | undefined
}

interface SealableQuestion {
  readonly id: InputRequestId
  readonly request: RequestedInput
  readonly sealing: SealingKeyPair | undefined
}

const refused = (ids: ReadonlyArray<string>, message: string) =>
  new SchemaValidationFailed({
    details: { issues: ids.map((id) => ({ path: `answers.${id}`, message })) }
  })

/** `allowsPlain`: whether secret answers may arrive without a seal, as they do from this machine. */
export const answerForms = Effect.fnUntraced(function* (
  { id, request, sealing }: SealableQuestion,
  answer: InputAnswer,
  allowsPlain: boolean
): Effect.fn.Return<AnswerForms, SchemaValidationFailed> {
  if (!("answers" in answer)) return { answer, stored: undefined }
  const { answers } = answer
  const plain = secretQuestions(request).filter(
    (one) => Object.hasOwn(answers, one) && !isSealed(answers[one])
  )
  if (plain.length > 0 && !allowsPlain) return yield* refused(plain, "Seal this answer.")
  const opened = yield* Effect.promise(() => openedAnswers(sealing, id, request, answers))
  if (opened.unopened.length > 0)
    return yield* refused(
      opened.unopened,
      "This answer was sealed for another question. Load the question again."
    )
  const stored = yield* Effect.promise(() => storedAnswers(sealing, id, request, answers))
  return { answer: { ...answer, answers: opened.answers }, stored }
})

/** An answer on its way to the Hub: the mutation that sends it, and the message where it is refused. */
import { CorralError } from "@corral/client/http/CorralError"
import type { HubInput } from "@corral/domain/hub-api/HubRun"
import type { AnswerValue, InputAnswer } from "@corral/domain/input/InputRequest"
import { sealValue } from "@corral/domain/input/Seal"
import { useMutation, useQueryClient } from "@tanstack/react-query"
import { useRef } from "react"
import { hubApi, useIdempotencyKey } from "../api/Hub.ts"
import { useMessages } from "../text/Language.tsx"
import { RefusalNote } from "../ui/RefusalNote.tsx"
import { inputMessages } from "./messages.ts"

/** Questions whose answers are sealed. */
const secretIds = ({ questions = [] }: HubInput): ReadonlySet<string> =>
  new Set(questions.filter(({ secret }) => secret === true).map(({ id }) => id))

/** The answer with its secrets sealed. */
const sealedAnswer = async (input: HubInput, answer: InputAnswer): Promise<InputAnswer> => {
  const secrets = secretIds(input)
  if (!("answers" in answer) || secrets.size === 0) return answer
  const { id, sealingKey } = input
  const entries = Object.entries(answer.answers).map(async ([question, value]) => {
    const isSecret = secrets.has(question) && typeof value === "string"
    // Without a key nothing is sent in the clear: the form offers no field then.
    if (isSecret && sealingKey === undefined) throw new Error("no key for secret answers")
    const sent: AnswerValue = isSecret ? await sealValue(sealingKey ?? "", id, value) : value
    return [question, sent] as const
  })
  return { ...answer, answers: Object.fromEntries(await Promise.all(entries)) }
}

export type AnswerMutation = ReturnType<typeof useAnswer>

/** What follows an answer, also where the change feed has closed the question, and what asked it is gone, before the Hub's response is here. */
interface AnswerSteps {
  /** The person has answered, and the Hub does not know yet. */
  readonly onSend?: () => void
  readonly onSent?: () => void
}

/**
 * Mutation that sends an answer. Secret answers are sealed in this browser first. A retry sends the same bytes with the same idempotency key.
 */
export const useAnswer = (input: HubInput, { onSend, onSent }: AnswerSteps) => {
  const client = useQueryClient()
  const headersOf = useIdempotencyKey()
  // Sealing the same text twice gives different bytes, which would be another request.
  const sealed = useRef<{ readonly of: string; readonly payload: Promise<InputAnswer> }>(undefined)
  const payloadOf = (answer: InputAnswer): Promise<InputAnswer> => {
    const of = JSON.stringify(answer)
    if (sealed.current?.of !== of) sealed.current = { of, payload: sealedAnswer(input, answer) }
    return sealed.current.payload
  }
  return useMutation({
    mutationFn: async (answer: InputAnswer) => {
      const payload = await payloadOf(answer)
      return hubApi.inputs.answer({ params: { id: input.id }, headers: headersOf(payload), payload })
    },
    onMutate: () => onSend?.(),
    onSuccess: () => {
      sealed.current = undefined
      onSent?.()
    },
    // Also after an error: another person may have answered.
    onSettled: () => client.invalidateQueries({ queryKey: ["inputs"] })
  })
}

/** Message for an answer that was refused. Other errors are shown as everywhere. */
export const AnswerNote = ({ error }: { readonly error: Error | null }) => {
  const messages = useMessages(inputMessages)
  const sentence = error instanceof CorralError ? sentenceOf(error, messages) : undefined
  if (sentence === undefined) return <RefusalNote error={error} />
  return (
    <div className="refusal" role="alert">
      <p>{sentence}</p>
    </div>
  )
}

const sentenceOf = (
  { code, details }: CorralError,
  messages: (typeof inputMessages)["en"]
): string | undefined => {
  if (code === "input_already_resolved") return messages.already
  if (code === "input_expired") return messages.tooLate
  if (code === "conflict" && details["reason"] === "edge_outdated") return messages.outdated
  if (code !== "target_offline") return undefined
  return details["outcome"] === "unknown" ? messages.unknownOutcome : messages.offlineRefusal
}

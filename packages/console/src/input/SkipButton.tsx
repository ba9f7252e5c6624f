/** Declines a question, a form or a link. */
import { useMessages } from "../text/Language.tsx"
import { inputMessages } from "./messages.ts"
import type { AnswerMutation } from "./useAnswer.ts"

export const SkipButton = ({ answer }: { readonly answer: AnswerMutation }) => (
  <button
    type="button"
    className="button"
    disabled={answer.isPending || answer.isSuccess}
    onClick={() => answer.mutate({ decline: true })}
  >
    {useMessages(inputMessages).skip}
  </button>
)

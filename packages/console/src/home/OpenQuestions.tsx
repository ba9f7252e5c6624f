/** All open questions and plans as rows, and changes that wait. Nothing where there are none. */
import { useLatestRuns } from "../api/LatestRuns.ts"
import { usePendingInputs } from "../api/Pending.ts"
import { useMessages } from "../text/Language.tsx"
import { OpenChanges } from "./ChangesRow.tsx"
import { InputRow } from "./InputRow.tsx"
import { inputMessages } from "../input/messages.ts"
import "../input/input.css"
import "./home.css"

const Questions = () => {
  const messages = useMessages(inputMessages)
  const inputs = usePendingInputs()
  const runs = useLatestRuns()
  if (inputs.length === 0) return null
  return (
    <section className="open-questions home" aria-label={messages.questions}>
      <ul className="rows" aria-label={messages.questions}>
        {inputs.map((input) => (
          <InputRow
            key={input.id}
            input={input}
            sessionId={runs.find(({ id }) => id === input.runId)?.sessionId}
          />
        ))}
      </ul>
    </section>
  )
}

export const OpenQuestions = () => (
  <>
    <Questions />
    <OpenChanges />
  </>
)

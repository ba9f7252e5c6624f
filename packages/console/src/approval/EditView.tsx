/** Changed fields of an edited input, each with its requested and its allowed value. */
import { inputChanges, inputText } from "@corral/domain/approval/InputEdit"
import { Clipped } from "../markdown/Clipped.tsx"
import { oneLine, visible } from "../markdown/visible.ts"
import { useWords } from "../text/Language.tsx"
import { approvalWords } from "./messages.ts"
import "./approval.css"

export const EditView = ({
  allowed,
  requested
}: {
  readonly allowed: unknown
  readonly requested: unknown
}) => {
  const words = useWords(approvalWords)
  const changes = inputChanges(requested, allowed)
  return (
    <section className="edit" aria-label={words.editShown}>
      <h3>{words.editShown}</h3>
      {changes.map((change) => (
        <div key={change.name} className="edit-field">
          {change.name !== "" && <h4 className="edit-name">{oneLine(change.name, 100)}</h4>}
          <dl>
            {(["allowed", "requested"] as const).map((side) => (
              <div key={side} className={`edit-${side}`}>
                <dt>{words.editSides[side]}</dt>
                <dd>
                  {change[side] === undefined ? (
                    <span className="quiet">{words.editNothing}</span>
                  ) : (
                    <Clipped text={visible(inputText(change[side]))} className="code" />
                  )}
                </dd>
              </div>
            ))}
          </dl>
        </div>
      ))}
    </section>
  )
}

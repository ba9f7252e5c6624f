/**
 * Decided request. An edited request shows the allowed input first, each changed field with its requested and its allowed value, then the
 * requested one.
 */
import type { ApprovalRequest } from "@corral/domain/approval/Approval"
import { inputChanges, inputText } from "@corral/domain/approval/InputEdit"
import { Clipped } from "../markdown/Clipped.tsx"
import { visibleLine, visibleText } from "../markdown/visible.ts"
import { useMessages } from "../text/Language.tsx"
import { RequestView } from "./RequestView.tsx"
import { approvalMessages } from "./messages.ts"
import "./approval.css"

/** Changed fields of an edited input, each with its requested and its allowed value. */
const EditView = ({ allowed, requested }: { readonly allowed: unknown; readonly requested: unknown }) => {
  const messages = useMessages(approvalMessages)
  const changes = inputChanges(requested, allowed)
  return (
    <section className="edit" aria-label={messages.editShown}>
      <h3>{messages.editShown}</h3>
      {changes.map((change) => (
        <div key={change.name} className="edit-field">
          {change.name !== "" && <h4 className="edit-name">{visibleLine(change.name, 100)}</h4>}
          <dl>
            {(["allowed", "requested"] as const).map((side) => (
              <div key={side} className={`edit-${side}`}>
                <dt>{messages.editSides[side]}</dt>
                <dd>
                  {change[side] === undefined ? (
                    <span className="quiet">{messages.editNothing}</span>
                  ) : (
                    <Clipped text={visibleText(inputText(change[side]))} className="code" />
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

interface DecidedRequestProps {
  readonly request: ApprovalRequest
  readonly allowedInput: unknown
}

export const DecidedRequest = ({ allowedInput, request }: DecidedRequestProps) => {
  const messages = useMessages(approvalMessages)
  if (allowedInput === undefined) return <RequestView request={request} isDecided />
  return (
    <>
      <EditView requested={request.input} allowed={allowedInput} />
      <details>
        <summary>{messages.wholeRequest}</summary>
        <RequestView request={request} isDecided />
      </details>
    </>
  )
}

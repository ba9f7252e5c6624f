/** A labelled field of a form. */
import { cloneElement, type ReactElement, type ReactNode, useId } from "react"

interface Props {
  readonly label: string
  /** Said below the field. */
  readonly hint?: ReactNode
  /** One input, select or textarea. It is given the id by which its label and its hint name it. */
  readonly children: ReactElement<{ readonly id?: string; readonly "aria-describedby"?: string }>
}

export const Field = ({ children, hint, label }: Props) => {
  const id = useId()
  const hintId = `${id}-hint`
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      {cloneElement(children, { id, ...(hint === undefined ? {} : { "aria-describedby": hintId }) })}
      {hint !== undefined && (
        <span id={hintId} className="quiet">
          {hint}
        </span>
      )}
    </div>
  )
}

/** The text of a field of a form that was sent, without the space around it. */
export const textIn = (form: FormData, name: string): string => {
  const value = form.get(name)
  return typeof value === "string" ? value.trim() : ""
}

/** `{ [name]: text }`, or nothing where the field is empty: for what may be left out. */
export const given = <K extends string>(form: FormData, name: K): { readonly [N in K]?: string } => {
  const text = textIn(form, name)
  const found: { [N in K]?: string } = {}
  if (text !== "") found[name] = text
  return found
}

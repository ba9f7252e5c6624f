/** Labelled form field. */
import { cloneElement, type ReactElement, type ReactNode, useId } from "react"

/** What the input of a field receives. A component between both must pass it to its element. */
export interface FieldInput {
  readonly id?: string
  readonly "aria-describedby"?: string
}

interface Props {
  readonly label: string
  /** Shown below the field. */
  readonly hint?: ReactNode
  /** One input, select or textarea. Receives the id that its label and hint refer to. */
  readonly children: ReactElement<FieldInput>
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

/** Reads a text field of a submitted form, without surrounding space. */
export const textIn = (form: FormData, name: string): string => {
  const value = form.get(name)
  return typeof value === "string" ? value.trim() : ""
}

/** Reads a number field of a submitted form, whose number the browser has checked. */
export const numberIn = (form: FormData, name: string): number | undefined => {
  const text = textIn(form, name)
  return text === "" ? undefined : Number(text)
}

/** Returns `{ [name]: text }`, or `{}` if the field is empty. */
export const optionalField = <K extends string>(form: FormData, name: K): { readonly [N in K]?: string } => {
  const text = textIn(form, name)
  const found: { [N in K]?: string } = {}
  if (text !== "") found[name] = text
  return found
}

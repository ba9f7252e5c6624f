/** A labelled field of a form. */
import type { ReactNode } from "react"

interface Props {
  readonly label: string
  /** Said below the field. */
  readonly hint?: ReactNode
  /** One input, select or textarea. */
  readonly children: ReactNode
}

export const Field = ({ children, hint, label }: Props) => (
  <label className="field">
    <span>{label}</span>
    {children}
    {hint !== undefined && <span className="quiet">{hint}</span>}
  </label>
)

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

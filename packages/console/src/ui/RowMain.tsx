/** Main part of a list row: a name, and a line of details below it. */
import type { ReactNode } from "react"

interface Props {
  readonly name: string
  /** Shown after the name, such as a badge. */
  readonly suffix?: ReactNode
  /** The line of details. */
  readonly children: ReactNode
}

export const RowMain = ({ children, name, suffix }: Props) => (
  <div className="row-main">
    <strong>
      <bdi>{name}</bdi>
    </strong>
    {suffix !== undefined && <> {suffix}</>}
    <br />
    <span className="quiet">{children}</span>
  </div>
)

/** Form part for the quiet hours of the user: a switch, and the times in the time zone of this browser. */
import { useChangePreferences, usePreferences } from "../preference/StoredPreferences.ts"
import { useMessages, usePunctuation } from "../text/Language.tsx"
import { Field } from "../ui/Field.tsx"
import { accountMessages } from "./messages.ts"
import "./account.css"

const usualHours = { from: "22:00", to: "07:00" }

const browserZone = (): string => new Intl.DateTimeFormat().resolvedOptions().timeZone

export const QuietHours = () => {
  const messages = useMessages(accountMessages)
  const { colon } = usePunctuation()
  const { quietHours } = usePreferences() ?? {}
  const change = useChangePreferences()
  const store = (hours: { readonly from: string; readonly to: string }) => {
    // A field that is being written has no time.
    if (hours.from === "" || hours.to === "" || hours.from === hours.to) return
    change(() => ({ quietHours: { ...hours, timeZone: browserZone() } }))
  }
  return (
    <>
      <label className="choice">
        <input
          type="checkbox"
          checked={quietHours !== undefined}
          onChange={({ currentTarget: { checked } }) =>
            checked ? store(usualHours) : change(() => ({ quietHours: null }))
          }
        />
        {messages.quietHours}
      </label>
      <p className="quiet">{messages.quietHoursHint}</p>
      {quietHours !== undefined && (
        <div className="quiet-times">
          {(["from", "to"] as const).map((end) => (
            <Field key={end} label={messages[end]}>
              <input
                type="time"
                required
                value={quietHours[end]}
                onChange={({ currentTarget: { value } }) => store({ ...quietHours, [end]: value })}
              />
            </Field>
          ))}
          <span className="quiet">
            {messages.timeZone}
            {colon}
            {quietHours.timeZone}
          </span>
        </div>
      )}
    </>
  )
}

/** Texts that people wrote for a request which expired, or which another person answered, before they were sent. They go to the composer of the session. */
import { createContext, useContext, useEffect, useRef } from "react"

/** Takes a text. Absent where there is no composer. */
export const UnsentText = createContext<((text: string) => void) | undefined>(undefined)

/** Hands over a text that is left when its form goes. `isSent`: whether the text was, or is being, sent. */
export const useUnsentText = (text: string, isSent: boolean): void => {
  const take = useContext(UnsentText)
  const latest = useRef({ text, isSent, take })
  useEffect(() => {
    latest.current = { text, isSent, take }
  })
  useEffect(
    () => () => {
      const left = latest.current
      if (!left.isSent && left.text.trim() !== "") left.take?.(left.text)
    },
    []
  )
}

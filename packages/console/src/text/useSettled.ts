/** A value that is typed, once no key has changed it for a while. */
import { useEffect, useState } from "react"

export const useSettled = <A>(value: A, pauseMs: number): A => {
  const [settled, setSettled] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), pauseMs)
    return () => clearTimeout(timer)
  }, [value, pauseMs])
  return settled
}

/** A bounded wait: the promise's value, or an error that names what did not come. The limit counts uncontended time. */
import { UncontendedTime } from "./UncontendedTime.ts"

/** Between two looks at the time. */
const MIN_PAUSE_MS = 10

export const within = async <A>(promise: Promise<A>, millis: number, what: string): Promise<A> => {
  const time = new UncontendedTime()
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    const look = () => {
      const left = millis - time.millis
      if (left <= 0) reject(new Error(`${what} did not come within ${millis} ms`))
      else timer = setTimeout(look, Math.max(left, MIN_PAUSE_MS))
    }
    timer = setTimeout(look, millis)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}

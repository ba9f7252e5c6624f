/** A bounded wait: the promise's value, or an error that names what did not come. */
export const within = async <A>(promise: Promise<A>, millis: number, what: string): Promise<A> => {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} did not come within ${millis} ms`)), millis)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}

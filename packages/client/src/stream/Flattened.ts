/** Items of groups, one by one. */
export async function* flattened<A>(groups: AsyncIterable<ReadonlyArray<A>>): AsyncGenerator<A> {
  for await (const group of groups) yield* group
}

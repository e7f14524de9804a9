// Plays tool loops with a client: this text stands behind that of the client, which has
// the functions play and failure.
//
// Each line of standard input is a job in JSON: name, base_url, model, mode, messages,
// tools, results, the text that each tool gives, and then, what the user says behind
// the results of each round. For each turn of a job, and for the error that ended it, one
// line of JSON goes to standard output. Nothing goes to standard error but what should
// fail the test, warnings too.
//
// mode is "whole", "helper" (the SDK puts the stream together) or "chunks" (we do).

import { createInterface } from 'node:readline';

const maxTurns = 8;
const atOnce = 8; // jobs; most of their time they wait

async function run(job) {
  try {
    for await (const turn of play(job, maxTurns)) console.log(JSON.stringify({ job: job.name, ...turn }));
  } catch (error) { // the other jobs run all the same
    console.log(JSON.stringify({ job: job.name, error: failure(error) }));
  }
}

const jobs = [];
for await (const line of createInterface({ input: process.stdin })) jobs.push(JSON.parse(line));

async function worker() {
  while (jobs.length > 0) await run(jobs.shift());
}

await Promise.all(Array.from({ length: atOnce }, worker));
